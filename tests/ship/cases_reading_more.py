"""Reading commands with `--from`: errors of the store, several vaults, and what the commands ask of it."""
from cases import case, sent
from cases_reading import read, recorded, with_reader

EXPORTS = ["cassette", "jsonl", "otlp", "markdown", "html"]


@case("show and export end with an error if a large body cannot be read")
def _(t):
    url, vault = t.device(), recorded(t)
    with_reader(t)
    sent(vault.to(url, "--once"))
    t.cluster.psql("REVOKE EXECUTE ON FUNCTION mcp_interposer.read_body FROM PUBLIC")
    file = t.folder / "out"
    shows = [["show", "1", *options] for options in ([], ["--json"], ["--bodies"], ["--pretty"])]
    for words in (*shows, *(["export", "1", "-F", form] for form in EXPORTS), ["export", "1", "-F", "jsonl", "-o", str(file)]):
        status, _, error = read(t, "boss", words)
        assert status == 3 and "permission denied" in error, (words, status, error)
    assert not file.exists(), "an incomplete file"
