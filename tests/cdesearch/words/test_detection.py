import pytest

from cdesearch.words.detection import language_of

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
