"""Logitscope: see how a language model writes.

What is where (import paths on the left, folders of the repository on the right):

===========================  ============  ==============================================
``logitscope``               ``core/``     numerics and the document; numpy only
``logitscope.backends``      ``backends/`` the model libraries and the model's own process
``logitscope.gui``           ``gui/``      the window; the only place that knows Qt
``logitscope.resources``     ``resources/`` icons, themes, examples
===========================  ============  ==============================================
"""

__version__ = "0.1.0"
