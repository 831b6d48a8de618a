"""Documents in other languages than English: which full text they get, and whether they are found."""

import shutil

import pytest
from built import make_index

import cdesearch
from cdesearch.cli.status import read_status
from cdesearch.search.passage_lines import query_words
from cdesearch.store.index import Index
from cdesearch.words.word_forms import word_spans

# For each language: documents, and queries with the number of the document that contains their words
CORPORA = {
    "de": (
        [
            "Die Dateien im Arbeitsverzeichnis werden gelöscht, wenn der Benutzer sich abmeldet und die Sitzung endet.",
            "Der Einhängepunkt des Dateisystems muss vorhanden sein, bevor es von dem Programm eingebunden wird.",
            "Mit dieser Option wird die Ausgabe nach der Größe der Prozesse sortiert, nicht nach ihrem Namen.",
        ],
        [("Datei", 0), ("Benutzern", 0), ("Arbeitsverzeichnisses", 0), ("Einhängepunkte", 1), ("Prozess", 2)],
    ),
    "ru": (
        [
            "Все временные файлы удаляются из каталога, когда пользователь завершает работу с системой.",
            "Точка монтирования должна существовать, прежде чем программа сможет её использовать для диска.",
            "С этим параметром вывод сортируется по размеру процессов, а не по их имени или номеру.",
        ],
        [("файл", 0), ("каталоги", 0), ("монтирование", 1), ("процесс", 2)],
    ),
    "ar": (
        [
            "يتم حذف الملفات المؤقتة من المجلد عندما يغلق المستخدم الجلسة ولا يبقى شيء منها",
            "يجب أن تكون نقطة التركيب موجودة قبل أن يستخدمها البرنامج من أجل القرص",
            "مع هذا الخيار يتم ترتيب المخرجات حسب حجم العمليات وليس حسب اسمها",
        ],
        [("ملف", 0), ("مستخدمين", 0), ("نقطة", 1), ("حجم", 2)],
    ),
    "ja": (
        [
            "利用者がログアウトすると、作業ディレクトリにある一時ファイルはすべて削除されます。",
            "ファイルシステムを使用する前に、マウントポイントが存在しなければなりません。",
            "このオプションを指定すると、出力は名前ではなくプロセスの大きさの順に並べられます。",
        ],
        [("一時ファイル", 0), ("削除", 0), ("マウントポイント", 1), ("出力", 2)],
    ),
    "zh": (
        [
            "当用户注销时，工作目录中的所有临时文件都将被删除，不会保留任何内容。",
            "在程序使用文件系统之前，挂载点必须已经存在于磁盘上。",
            "使用此选项时，输出按进程的大小排序，而不是按名称排序。",
        ],
        [("临时文件", 0), ("删除", 0), ("磁盘", 1), ("进程", 2)],
    ),
}
ENGLISH = ["The file is removed from the folder when the last user has closed it.", "It is sorted by the size of them."]


@pytest.fixture(scope="module")
def english_model(tmp_path_factory, tiny_checkpoint):
    """A random model with a card that says that it reads English."""
    folder = tmp_path_factory.mktemp("models") / "english"
    shutil.copytree(tiny_checkpoint, folder)
    (folder / "README.md").write_text("---\nlicense: mit\nlanguage:\n- en\n---\n# A model\n")
    return folder


def write(folder, texts):
    folder.mkdir(exist_ok=True)
    for number, text in enumerate(texts):
        (folder / f"{number}.md").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("code", CORPORA)
def test_words_in_the_middle_of_sentences_are_found_and_marked_in_every_language(tmp_path, english_model, code):
    texts, queries = CORPORA[code]
    folder = write(tmp_path / "docs", texts)
    index = cdesearch.build(folder, model=english_model)
    for query, expected in queries:
        for mode in ("text", "hybrid"):
            best = index.search(query, k=3, mode=mode)[0].chunk
            assert best.path == f"{expected}.md", (query, mode)
        assert [*word_spans(best.text, query_words(query))], query


def test_an_arabic_word_is_found_behind_an_article_and_a_conjunction(tmp_path, english_model):
    texts = [*CORPORA["ar"][0], "يجب نقل المجلدات والملفات إلى القرص قبل أن يتم حذف كل شيء من هذا النظام"]
    index = cdesearch.build(write(tmp_path / "docs", texts), model=english_model)
    for query in ("ملفات", "الملفات", "والملفات"):
        found = {hit.chunk.path: hit.chunk.text for hit in index.search(query, k=4, mode="text")}
        assert set(found) == {"0.md", "3.md"}, query
        assert all([*word_spans(text, query_words(query))] for text in found.values())


def test_a_part_of_a_german_compound_finds_it_also_after_updates(tmp_path, english_model):
    folder = write(tmp_path / "docs", CORPORA["de"][0])
    index = cdesearch.build(folder, model=english_model)
    for query in ("Verzeichnis", "Arbeit Verzeichnisse", "System einbinden"):
        assert index.search(query, mode="text")[0].chunk.path == ("1.md" if "System" in query else "0.md"), query
    assert not index.search("Wort", mode="text")
    (folder / "3.md").write_text("Das Schlüsselwort steht am Anfang einer Zeile und nicht an deren Ende.")
    index.update()
    assert [hit.chunk.path for hit in index.search("Wörter Wort", mode="text")] == ["3.md"]
    (folder / "2.md").unlink()
    index.update()
    assert [hit.chunk.path for hit in index.search("Wort", mode="text")] == ["3.md"]
    assert index.search("Verzeichnis", mode="text")[0].chunk.path == "0.md"


def test_whole_words_count_for_more_than_compounds(tmp_path, english_model):
    texts = [
        *CORPORA["de"][0],
        "Das Verzeichnis der Sitzung gehört dem Benutzer, und die anderen dürfen es nicht lesen.",
    ]
    index = cdesearch.build(write(tmp_path / "docs", texts), model=english_model)
    assert [hit.chunk.path for hit in index.search("Verzeichnis", mode="text")] == ["3.md", "0.md"]


def test_words_are_found_by_the_stems_of_every_language_of_a_mixed_corpus(tmp_path, english_model):
    folder = write(tmp_path / "docs", [*ENGLISH, *CORPORA["de"][0], *CORPORA["ru"][0]])
    index = cdesearch.build(folder, model=english_model)
    for query, expected in (("folders", 0), ("sorting", 1), ("Benutzern", 2), ("каталоги", 5)):
        assert index.search(query, mode="text")[0].chunk.path == f"{expected}.md", query


def test_a_chunk_without_function_words_has_the_language_of_its_document(tmp_path, english_model):
    prose = " ".join(CORPORA["de"][0] * 8)
    numbers = "".join(f"\nHäuser: {number}" for number in range(300))
    index = cdesearch.build(write(tmp_path / "docs", [f"{prose}\n\n# Liste\n{numbers}\n"]), model=english_model)
    hits = index.search("Haus", k=50, mode="text")
    assert len(hits) > 2


def test_status_and_summary_say_what_the_model_does_not_read(tmp_path, english_model):
    folder = write(tmp_path / "docs", [*CORPORA["ru"][0], ENGLISH[0]])
    report = make_index([folder], model=english_model)
    (line,) = report.language_notes
    assert line.startswith("75% of the chunks are in languages that the model does not read (75% Russian).")
    assert "The model intfloat/multilingual-e5-small reads them: " in line and "--model multilingual" in line
    cdesearch.open(folder, model=english_model)
    status = read_status(Index.open(folder))
    assert status["languages"] == "75% Russian, 25% English" and status["unread"] == line
