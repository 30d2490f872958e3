"""scripts/words counts places in the texts of a repository, holds them to a limit, and checks the subjects of commits."""

import shutil
import subprocess

import pytest

import harness

SOURCE = """\
// The sampler copies the pages of a process. What is
// kept is freed later.
const char* text = "there is no recording in the folder";
const char* key = "whatever";  // the key of a table
"""


class Repository:
    def __init__(self, root):
        self.root = root
        (root / "scripts").mkdir()
        shutil.copy2(harness.ROOT / "scripts" / "words", root / "scripts")
        self.git("init", "--quiet")

    def git(self, *arguments):
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=self.root, check=True, capture_output=True)

    def words(self, *arguments):
        done = subprocess.run([self.root / "scripts" / "words", *arguments], cwd=self.root, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path)


def test_comments_and_strings(repository):
    (repository.root / "a.cpp").write_text(SOURCE)
    code, printed = repository.words("--list", "a.cpp")
    assert code == 0
    assert "a.cpp:1: subject without a noun: The sampler" in printed  # the sentence begins on this line
    assert "a.cpp:3: is no, are none: there is no recording" in printed
    assert "whatever" not in printed  # shorter than a sentence
    assert "\ntotal                  4       2     500.0" in printed


def test_markdown(repository):
    sentence = "word " * 33
    (repository.root / "a.md").write_text(f"# Title\n\n    $ what is printed\n\n{sentence.strip()}.\n\n| cell | what it holds |\n")
    code, printed = repository.words("--list", "a.md")
    assert code == 0
    assert "a.md:5: sentence of 33 words" in printed
    assert "a.md:5: line of 165 columns" in printed
    assert "a.md:7: subject without a noun: what it holds" in printed
    assert "a.md:3" not in printed


def test_descriptions(repository):
    (repository.root / "a.schema.json").write_text('{\n  "a": { "description": "Of the block." },\n  "b": { "description": "The size of the block." }\n}\n')
    (repository.root / "action.yml").write_text("# The action.\ninputs:\n  a:\n    description: What pip installs\n")
    code, printed = repository.words("--list", "a.schema.json", "action.yml")
    assert code == 0
    assert "a.schema.json:2: subject without a noun: Of the block." in printed
    assert "action.yml:4: subject without a noun: What pip installs" in printed
    assert "\ntotal                  4       2     500.0" in printed


def test_limit(repository):
    (repository.root / "a.cpp").write_text(SOURCE)
    assert repository.words("--limit", "500", "a.cpp")[0] == 0
    code, printed = repository.words("--limit", "499", "a.cpp")
    assert code == 1
    assert "500.0 places per 1,000 lines, the limit is 499" in printed


@pytest.mark.parametrize(
    ("subject", "fault"),
    [
        ("Record the saves of the fused RMS norm", None),
        ("Process the frees of another thread", None),
        ("Embed the page of the report", None),
        ("Record the saves of the fused RMS norm and of every other norm that PyTorch fuses", "characters"),
        ("Record saves; read snapshots", "joins topics"),
        ("Record saves.", "ends with a period"),
        ("Fixed the sampler", "imperative"),
        ("Records saves", "imperative"),
        ("The sampler stops at the end", "imperative"),
        ("fix: stop the sampler", "prefix"),
    ],
)
def test_commits(repository, subject, fault):
    (repository.root / "a").write_text("")
    repository.git("add", "a")
    repository.git("commit", "--quiet", "-m", "Begin")
    repository.git("commit", "--quiet", "--allow-empty", "-m", subject)
    code, printed = repository.words("--commits", "HEAD~1..HEAD")
    assert code == (1 if fault else 0), printed
    if fault:
        assert fault in printed
