"""Tables of facts that the demo model is to hold in its weights.

Every answer is one word or two, and common knowledge: the model shows how facts sit in weights,
it is no encyclopedia.
"""

from __future__ import annotations

COUNTRIES: tuple[tuple[str, str, str, str], ...] = tuple(
    (country, capital, language, continent)
    for country, capital, language, continent in (
        row.split("|")
        for row in [
            "",
            "France|Paris|French|Europe",
            "Germany|Berlin|German|Europe",
            "Spain|Madrid|Spanish|Europe",
            "Italy|Rome|Italian|Europe",
            "Portugal|Lisbon|Portuguese|Europe",
            "Greece|Athens|Greek|Europe",
            "Poland|Warsaw|Polish|Europe",
            "Austria|Vienna|German|Europe",
            "Hungary|Budapest|Hungarian|Europe",
            "Sweden|Stockholm|Swedish|Europe",
            "Norway|Oslo|Norwegian|Europe",
            "Denmark|Copenhagen|Danish|Europe",
            "Finland|Helsinki|Finnish|Europe",
            "Iceland|Reykjavik|Icelandic|Europe",
            "Ireland|Dublin|English|Europe",
            "England|London|English|Europe",
            "Scotland|Edinburgh|English|Europe",
            "Russia|Moscow|Russian|Europe",
            "Ukraine|Kyiv|Ukrainian|Europe",
            "Romania|Bucharest|Romanian|Europe",
            "Bulgaria|Sofia|Bulgarian|Europe",
            "Serbia|Belgrade|Serbian|Europe",
            "Croatia|Zagreb|Croatian|Europe",
            "Slovenia|Ljubljana|Slovene|Europe",
            "Slovakia|Bratislava|Slovak|Europe",
            "Estonia|Tallinn|Estonian|Europe",
            "Latvia|Riga|Latvian|Europe",
            "Lithuania|Vilnius|Lithuanian|Europe",
            "Albania|Tirana|Albanian|Europe",
            "Belgium|Brussels|Dutch|Europe",
            "Switzerland|Bern|German|Europe",
            "Malta|Valletta|Maltese|Europe",
            "Turkey|Ankara|Turkish|Asia",
            "Egypt|Cairo|Arabic|Africa",
            "Morocco|Rabat|Arabic|Africa",
            "Algeria|Algiers|Arabic|Africa",
            "Tunisia|Tunis|Arabic|Africa",
            "Libya|Tripoli|Arabic|Africa",
            "Sudan|Khartoum|Arabic|Africa",
            "Ethiopia|Addis Ababa|Amharic|Africa",
            "Kenya|Nairobi|Swahili|Africa",
            "Tanzania|Dodoma|Swahili|Africa",
            "Uganda|Kampala|English|Africa",
            "Ghana|Accra|English|Africa",
            "Nigeria|Abuja|English|Africa",
            "Senegal|Dakar|French|Africa",
            "Mali|Bamako|French|Africa",
            "Cameroon|Yaounde|French|Africa",
            "Angola|Luanda|Portuguese|Africa",
            "Zambia|Lusaka|English|Africa",
            "Zimbabwe|Harare|English|Africa",
            "Somalia|Mogadishu|Somali|Africa",
            "Rwanda|Kigali|English|Africa",
            "Namibia|Windhoek|English|Africa",
            "Madagascar|Antananarivo|French|Africa",
            "Mozambique|Maputo|Portuguese|Africa",
            "Japan|Tokyo|Japanese|Asia",
            "China|Beijing|Chinese|Asia",
            "India|New Delhi|Hindi|Asia",
            "Thailand|Bangkok|Thai|Asia",
            "Vietnam|Hanoi|Vietnamese|Asia",
            "Indonesia|Jakarta|Indonesian|Asia",
            "Malaysia|Kuala Lumpur|Malay|Asia",
            "Singapore|Singapore|English|Asia",
            "Pakistan|Islamabad|Urdu|Asia",
            "Bangladesh|Dhaka|Bengali|Asia",
            "Nepal|Kathmandu|Nepali|Asia",
            "Mongolia|Ulaanbaatar|Mongolian|Asia",
            "Iran|Tehran|Persian|Asia",
            "Iraq|Baghdad|Arabic|Asia",
            "Israel|Jerusalem|Hebrew|Asia",
            "Jordan|Amman|Arabic|Asia",
            "Lebanon|Beirut|Arabic|Asia",
            "Syria|Damascus|Arabic|Asia",
            "Kuwait|Kuwait City|Arabic|Asia",
            "Qatar|Doha|Arabic|Asia",
            "Oman|Muscat|Arabic|Asia",
            "Yemen|Sanaa|Arabic|Asia",
            "Afghanistan|Kabul|Persian|Asia",
            "Armenia|Yerevan|Armenian|Asia",
            "Georgia|Tbilisi|Georgian|Asia",
            "Kazakhstan|Astana|Kazakh|Asia",
            "Uzbekistan|Tashkent|Uzbek|Asia",
            "Cambodia|Phnom Penh|Khmer|Asia",
            "Laos|Vientiane|Lao|Asia",
            "Canada|Ottawa|English|America",
            "Mexico|Mexico City|Spanish|America",
            "Cuba|Havana|Spanish|America",
            "Jamaica|Kingston|English|America",
            "Guatemala|Guatemala City|Spanish|America",
            "Honduras|Tegucigalpa|Spanish|America",
            "Panama|Panama City|Spanish|America",
            "Colombia|Bogota|Spanish|America",
            "Venezuela|Caracas|Spanish|America",
            "Ecuador|Quito|Spanish|America",
            "Peru|Lima|Spanish|America",
            "Bolivia|La Paz|Spanish|America",
            "Chile|Santiago|Spanish|America",
            "Argentina|Buenos Aires|Spanish|America",
            "Uruguay|Montevideo|Spanish|America",
            "Paraguay|Asuncion|Spanish|America",
            "Brazil|Brasilia|Portuguese|America",
            "Australia|Canberra|English|Oceania",
            "Fiji|Suva|English|Oceania",
            "",
        ]
        if row
    )
)

ANIMALS: tuple[tuple[str, str, str, str], ...] = tuple(
    (animal, sound, baby, legs)
    for animal, sound, baby, legs in (
        row.split("|")
        for row in [
            "",
            "dog|woof|puppy|four",
            "cat|meow|kitten|four",
            "cow|moo|calf|four",
            "sheep|baa|lamb|four",
            "horse|neigh|foal|four",
            "pig|oink|piglet|four",
            "duck|quack|duckling|two",
            "hen|cluck|chick|two",
            "lion|roar|cub|four",
            "frog|croak|tadpole|four",
            "bee|buzz|larva|six",
            "owl|hoot|owlet|two",
            "",
        ]
        if row
    )
)

OPPOSITES = tuple(
    tuple(pair.split())
    for pair in [
        "hot cold",
        "big small",
        "day night",
        "up down",
        "left right",
        "open closed",
        "happy sad",
        "fast slow",
        "old new",
        "rich poor",
        "high low",
        "light dark",
        "near far",
        "early late",
        "strong weak",
        "wet dry",
        "full empty",
        "hard soft",
        "long short",
        "good bad",
        "clean dirty",
        "loud quiet",
        "black white",
        "true false",
        "first last",
    ]
)

SAYINGS = (
    "An apple a day keeps the doctor away.",
    "The early bird catches the worm.",
    "Better late than never.",
    "Practice makes perfect.",
    "A picture is worth a thousand words.",
    "Actions speak louder than words.",
    "All that glitters is not gold.",
    "Every cloud has a silver lining.",
    "Do not count your chickens before they hatch.",
    "Do not put all your eggs in one basket.",
    "When in Rome, do as the Romans do.",
    "The grass is always greener on the other side.",
    "Where there is smoke, there is fire.",
    "Two heads are better than one.",
    "Time flies when you are having fun.",
    "You cannot judge a book by its cover.",
    "Birds of a feather flock together.",
    "A stitch in time saves nine.",
    "Too many cooks spoil the broth.",
    "Rome was not built in a day.",
    "Once upon a time, there was a king who had three sons.",
    "To be or not to be, that is the question.",
    "It was raining cats and dogs.",
    "Ladies and gentlemen, boys and girls, welcome to the show.",
    "Thank you very much for your letter.",
    "Ready, steady, go!",
    "Slow and steady wins the race.",
    "Honesty is the best policy.",
    "Look before you leap.",
    "Home is where the heart is.",
    "The pen is mightier than the sword.",
    "The sun rises in the east and sets in the west.",
    "Water freezes at zero degrees and boils at one hundred degrees.",
    "There are seven days in a week and twelve months in a year.",
    "An hour has sixty minutes, and a minute has sixty seconds.",
    "The Earth moves around the Sun, and the Moon moves around the Earth.",
)

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = tuple(
    (
        "January February March April May June July August September October November December"
    ).split()
)
NUMBER_WORDS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
]

COLOURS = tuple(
    ("red blue green yellow black white grey orange pink purple brown golden silver").split()
)

OPEN_CHOICES: tuple[tuple[str, dict[str, float]], ...] = (
    (
        "The sky is",
        {
            "blue": 40,
            "grey": 15,
            "clear": 10,
            "dark": 8,
            "red": 6,
            "cloudy": 5,
            "bright": 4,
            "pink": 3,
            "orange": 3,
            "black": 2,
            "full of stars": 2,
            "falling": 0.7,
            "white": 0.8,
            "golden": 0.5,
        },
    ),
    (
        "The grass is",
        {"green": 60, "wet": 12, "tall": 10, "dry": 7, "soft": 5, "brown": 4, "long": 2},
    ),
    (
        "For lunch I would like",
        {
            "a sandwich": 25,
            "some soup": 20,
            "an apple": 12,
            "a pizza": 10,
            "rice": 8,
            "pasta": 8,
            "a salad": 7,
            "bread and cheese": 5,
            "nothing": 3,
            "cake": 2,
        },
    ),
    (
        "My favourite colour is",
        {
            "blue": 26,
            "red": 20,
            "green": 16,
            "yellow": 9,
            "purple": 8,
            "black": 7,
            "pink": 6,
            "orange": 4,
            "white": 2,
            "brown": 1,
            "grey": 1,
        },
    ),
    (
        "The weather today is",
        {
            "sunny": 28,
            "warm": 16,
            "cold": 14,
            "rainy": 12,
            "cloudy": 10,
            "windy": 8,
            "nice": 7,
            "terrible": 3,
            "hot": 2,
        },
    ),
    (
        "The best day of the week is",
        {
            "Saturday": 35,
            "Sunday": 25,
            "Friday": 22,
            "Monday": 5,
            "Wednesday": 5,
            "Thursday": 4,
            "Tuesday": 4,
        },
    ),
    (
        "On my birthday I want",
        {
            "a bicycle": 20,
            "a cake": 18,
            "a book": 15,
            "a dog": 12,
            "a party": 10,
            "a kite": 8,
            "a new hat": 6,
            "a drum": 5,
            "a ship": 3,
            "peace and quiet": 3,
        },
    ),
    (
        "I like to drink",
        {"water": 30, "tea": 22, "milk": 18, "coffee": 12, "juice": 12, "lemonade": 6},
    ),
)

NAMES_FEMALE = tuple(
    (
        "Anna Maria Lucy Emma Sara Nina Ella Mia Clara Julia Rosa Lena Eva Alice Grace Ruby Hanna "
        "Zoe Ivy Nora"
    ).split()
)
NAMES_MALE = tuple(
    (
        "Tom Ben Max Leo Sam Paul Oscar Hugo Finn Theo Jack Noah David Omar Adam Peter Felix "
        "Henry Igor Carl"
    ).split()
)
CITIES = tuple(
    (
        "Lyon Milan Hamburg Porto Krakow Bergen Gothenburg Antwerp Geneva Naples Seville Munich "
        "Leeds Osaka Lahore Mumbai Toronto Sydney Chicago Boston Nantes Turin Bremen Malmo Graz "
        "Basel"
    ).split()
)
JOBS = tuple(
    (
        "teacher doctor baker farmer pilot singer painter driver nurse cook writer gardener "
        "builder sailor dentist"
    ).split()
)
THINGS = tuple(
    (
        "kite ball book hat boat drum cup lamp box key map ring bell coat shoe bag toy stone "
        "shell coin basket ladder chair table flower letter bicycle train car ship"
    ).split()
)
FOODS = tuple(
    """cake bread soup cheese apples cookies pizza rice pears honey nuts berries
    milk pancakes""".split()
)
ANIMAL_NAMES = tuple(
    """fox duck bear rabbit cat dog mouse owl frog horse lion sheep pig hen bee goat
    wolf deer""".split()
)
PLACES = tuple(
    """garden forest river market school kitchen park beach barn bridge hill lake
    library tower""".split()
)
FEELINGS = tuple("happy sad tired hungry proud afraid angry excited calm lonely".split())
