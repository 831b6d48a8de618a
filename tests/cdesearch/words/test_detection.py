import pytest
import Stemmer

from cdesearch.words.detection import described, joined_shares, language_of, language_shares, main_language, unread
from cdesearch.words.known import LANGUAGES, WITHOUT_STEMMER, names_of

TEXTS = {
    "en": "The file is removed from the folder when the last user has closed it, and nothing else is changed.",
    "de": "Die Datei wird aus dem Verzeichnis entfernt, wenn der letzte Benutzer sie geschlossen hat.",
    "fr": "Le fichier est supprimé du répertoire lorsque le dernier utilisateur l'a fermé, et rien d'autre.",
    "es": "El archivo se elimina de la carpeta cuando el último usuario lo ha cerrado, y no cambia nada más.",
    "pl": "Plik jest usuwany z katalogu, gdy ostatni użytkownik go zamknie, ale nie przed tym.",
    "ru": "Файл удаляется из каталога, когда последний пользователь его закрыл, и больше ничего.",
    "uk": "Файл видаляється з каталогу, коли останній користувач його закрив, і це все.",
    "ar": "يتم حذف الملف من المجلد عندما يغلقه آخر مستخدم ولا يتغير شيء آخر",
    "ja": "最後の利用者がファイルを閉じると、ファイルはフォルダから削除されます。",
    "zh": "当最后一个用户关闭文件时，该文件将从文件夹中删除。",
    "th": "ไฟล์จะถูกลบออกจากโฟลเดอร์เมื่อผู้ใช้คนสุดท้ายปิดไฟล์",
    "ko": "마지막 사용자가 파일을 닫으면 파일이 폴더에서 삭제됩니다.",
    "el": "Το αρχείο διαγράφεται από τον φάκελο όταν το κλείσει ο τελευταίος χρήστης.",
}


@pytest.mark.parametrize("code", TEXTS)
def test_the_language_of_a_text_is_detected(code):
    assert language_of(TEXTS[code]) == code


@pytest.mark.parametrize(
    "text", ["", "3.14 2.72", "die", "x", "int fd = open(path, O_RDONLY); close(fd);", "a\tb\tc\n1\t2\t3\nna\tna\tna"]
)
def test_programs_tables_and_single_words_have_no_language(text):
    assert language_of(text) is None


def test_a_text_has_the_language_of_most_of_its_words():
    assert language_of(TEXTS["en"] * 3 + TEXTS["ja"]) == "en"
    assert language_of(TEXTS["ja"] * 3 + "The file is removed.") == "ja"


def test_one_word_that_is_repeated_does_not_show_the_language_of_a_longer_text():
    text = "num boundary layer heat transfer num flat plate num laminar flow num wing pressure theory slender body"
    assert language_of(f"{text} {text}") is None


ENGLISH, GERMAN = TEXTS["en"], TEXTS["de"]


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ({}, "en"),
        ({"en": 0.9, "de": 0.1}, "en"),
        ({"de": 0.9, "en": 0.1}, "de"),
        ({"de": 0.4, "en": 0.4}, "en"),
        ({"ja": 0.9, "en": 0.1}, "ja"),
    ],
)
def test_the_main_language_is_the_most_frequent_one(shares, expected):
    assert main_language(shares) == expected


def test_the_share_of_each_language_is_that_of_its_texts():
    assert language_shares([ENGLISH] * 3 + [GERMAN] + ["1 2 3"]) == {"en": 0.6, "de": 0.2}
    assert language_shares([ENGLISH] * 199 + [GERMAN]) == {"en": 0.995}
    assert language_shares([]) == {}


def test_the_shares_of_parts_are_weighted_by_their_chunks():
    assert joined_shares([({"en": 1.0}, 30), ({"de": 0.5}, 10)]) == {"en": 0.75, "de": 0.125}
    assert joined_shares([({}, 0)]) == {}


def test_only_a_language_of_all_texts_has_the_whole_share():
    shares = language_shares([ENGLISH] * 29_999 + [GERMAN])
    assert shares == {"en": 0.9999} and described(shares) == "over 99% English"
    assert joined_shares([({"en": 1.0}, 29_999), ({}, 1)]) == {"en": 0.9999}
    assert joined_shares([({"en": 1.0}, 3), ({"en": 1.0}, 7)]) == {"en": 1.0}


def test_a_model_whose_languages_are_unknown_misses_nothing():
    assert unread({"de": 0.9, "en": 0.1}, ["en"]) == {"de": 0.9}
    assert unread({"de": 0.9}, []) == {}


def test_languages_are_named_in_words():
    assert described({"de": 0.9, "en": 0.1}) == "90% German, 10% English"
    assert described({"zh": 1.0}) == "100% Chinese"
    assert described({"zh": 0.9951}) == "over 99% Chinese" and described({"zh": 0.9949}) == "99% Chinese"
    assert names_of(["de", "ja", "ru"]) == "German, Japanese and Russian"
    assert names_of(["de"]) == "German" and names_of([]) == ""


def test_every_stemmer_exists():
    names = {name.lower() for code, name in LANGUAGES.items() if code not in WITHOUT_STEMMER}
    assert names <= {*Stemmer.algorithms()}
