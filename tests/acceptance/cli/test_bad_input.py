"""Every command with bad input: exit code 2, one clear message, no traceback, nothing on standard output."""

from __future__ import annotations

import pytest

from tests.acceptance.cli.orchestra_command import Command, write

# arguments → what the one message must hold
NEW = [
    ("nonsense", "No such command 'nonsense'"),
    ("--nonsense", "No such option"),
    ("run", "Missing argument"),
    ("run nowhere.yaml", "nowhere.yaml: there is no such scenario file"),
    ("run quickstrat", "Did you mean 'quickstart'"),
    ("run quickstart --nope", "No such option"),
    ("run quickstart --set", "requires an argument"),
    ("run quickstart --set turns", "--set"),
    ("run quickstart --set turnz=1", "Did you mean 'turns'"),
    ("run quickstart --set agents.nobody.model=auto", "there is no agent 'nobody'"),
    ("run quickstart --inline --set agents.travel.model=openia:x", "did you mean 'openai'"),
    ("run quickstart --set cluster.hosts.primary=0", "cluster.hosts.primary"),
    ("run quickstart --cluster nowhere.yaml", "nowhere.yaml: there is no such cluster file"),
    ("run quickstart extra", "unexpected extra argument"),
    ("run broken.yaml", "broken.yaml:1"),
    ("run wrong.yaml", "wrong.yaml:3: run: there is no agent 'nobody'"),
    ("chat", "Missing argument"),
    ("chat nobody", "there is no agent 'nobody'"),
    ("chat nobody.md", "nobody.md: there is no such agent file"),
    ("chat travel --session=", "a session id has 1 to 256 characters"),
    ("chat travel --cluster nowhere.yaml", "there is no such cluster file"),
    ("blocks nonsense", "No such command"),
    ("blocks list --agent nobody", "no agent named 'nobody'"),
    ("blocks list --user ana", "name it too"),
    ("blocks list --cluster nowhere.yaml", "there is no such cluster file"),
    ("blocks list --cluster wrong-cluster.yaml", "wrong-cluster.yaml:1: namespaze"),
    ("blocks show", "Missing argument"),
    ("blocks show nothing", "no block 'nothing'"),
    ("blocks set nothing text", "no block 'nothing'"),
    ("blocks set nothing", "nothing to set"),
    ("blocks set nothing text --file broken.yaml", "not both"),
    ("blocks set nothing --file nowhere.txt", "nowhere.txt: No such file"),
    ("blocks set nothing --limit many", "--limit"),
    ("blocks log nothing", "no block 'nothing'"),
    ("blocks blame nothing", "no block 'nothing'"),
    ("blocks diff nothing", "no block 'nothing'"),
    ("blocks diff nothing one two", "'before'"),
    ("blocks revert nothing", "give either --version or --run"),
    ("blocks revert nothing --version 1 --run x", "give either --version or --run"),
    ("blocks revert nothing --version 1", "no block 'nothing'"),
    ("sessions show", "Missing argument"),
    ("sessions show nothing", "no session named 'nothing'"),
    ("sessions show nothing --last 0", "--last"),
    ("sessions pop nothing", "no session named 'nothing'"),
    ("sessions pop nothing --count 0", "--count"),
    ("sessions delete nothing", "no session named 'nothing'"),
    ("sessions delete", "Missing argument"),
    ("sessions close", "Missing argument"),
    ("sessions close nothing", "no session named 'nothing'"),
    ("sessions rewind nothing", "no session named 'nothing'"),
    ("sessions rewind nothing --turn 0", "--turn"),
    ("sessions rewind nothing --turn last", "--turn"),
    ("sessions rewind nothing --turn 1 --run x", "give --turn or --run, not both"),
    ("sessions fork nothing", "Missing argument"),
    ("sessions fork nothing new", "--turn"),
    ("sessions fork nothing new --turn -1", "--turn"),
    ("sessions fork nothing new --turn 1", "no session named 'nothing'"),
    ("sessions snapshot nothing", "no session named 'nothing'"),
    ("sessions snapshot nothing --ttl soon", "--ttl 'soon'"),
    ("sessions snapshot nothing --ttl 0", "--ttl '0'"),
    ("sessions snapshots nothing", "no session named 'nothing'"),
    ("sessions snapshots nothing --agent a|b", "agent name 'a|b'"),
    ("sessions restore nothing", "no snapshot named 'nothing'"),
    ("sessions restore not:hing", "no snapshot named 'not:hing'"),
    ("sessions restore nothing --blocks some", "blocks 'some': use session, all or none"),
    ("sessions show " + "x" * 257, "a session id has 1 to 256 characters"),
    ("sessions show nothing --agent a|b", "no session named 'nothing of a|b'"),
    ("sessions list --cluster nowhere.yaml", "there is no such cluster file"),
    ("chat travel --session={name}", "unknown placeholder {name}"),
    ("chat travel --session={user", "single '{'"),
    ("run quickstart --set session={name}", "unknown placeholder {name}"),
    ("sessions list --limit 0", "--limit"),
    ("runs show nothing", "no run named 'nothing'"),
    ("runs list extra", "unexpected extra argument"),
    ("watch --count 0", "--count"),
    ("watch --cluster nowhere.yaml", "there is no such cluster file"),
    ("up nowhere.yaml", "nowhere.yaml: there is no such cluster file"),
    ("up wrong-cluster.yaml", "wrong-cluster.yaml:1: namespaze"),
    ("up cluster.yaml extra", "unexpected extra argument"),
    ("status --cluster nowhere.yaml", "there is no such cluster file"),
    ("down --cluster nowhere.yaml", "there is no such cluster file"),
    ("doctor --cluster nowhere.yaml", "there is no such cluster file"),
    ("init", "Missing argument"),
    ("init full", "full is not empty"),
    ("init broken.yaml", "broken.yaml is a file"),
]
OLD = [
    ("blocks set topic --limit 0", "a block's limit is a positive number"),
    ("blocks set topic --limit 1", "holds at most 1 characters"),
    ("blocks set topic text --version 99", "was at version 99"),
    ("blocks diff topic 1 99", "has no version 99"),
    ("blocks revert topic --version 99", "has no version 99"),
    ("blocks revert topic --run nothing", "no edit of run or pass 'nothing'"),
    ("sessions show talk --agent nobody", "no session named 'talk of nobody'"),
    ("sessions rewind talk --turn 99", "has no turn 99 (it has turns 1 to 5)"),
    ("sessions rewind talk --run nothing", "has no turn nothing"),
    ("sessions fork talk new --turn 99", "has no turn 99"),
    ("sessions fork talk talk --turn 1", "'talk' is there already"),
    ("sessions fork talk " + "x" * 257 + " --turn 1", "a session id has 1 to 256 characters"),
    ("sessions close talk --agent nobody", "no session named 'talk of nobody'"),
    ("sessions pop talk --agent nobody", "no session named 'talk of nobody'"),
]


def check_refused(command: Command, arguments: str, message: str, *, lines: int = 1) -> None:
    """Exit code 2 and the one message."""
    done = command(*arguments.split())
    assert done.code == 2, (done.out, done.err)
    assert done.out == ""
    assert "Traceback" not in done.err
    if message:
        assert done.err.startswith("orchestra: ")
        assert message in done.err
        assert len(done.err.splitlines()) == lines, done.err


@pytest.mark.parametrize(("arguments", "message"), NEW, ids=[arguments for arguments, _ in NEW])
def test_bad_input_is_refused_with_one_message(orchestra: Command, arguments: str, message: str) -> None:
    files = {
        "broken.yaml": "turns: [",
        "wrong.yaml": "agents: [pal.md]\nsession: s\nrun: nobody\nturns: [Hi.]\n",
        "pal.md": "---\nname: pal\n---\nHi.\n",
        "wrong-cluster.yaml": "namespaze: x\n",
        "full/file": "",
    }
    write(orchestra.folder, files)
    check_refused(orchestra, arguments, message)
    written = {str(path.relative_to(orchestra.folder)) for path in orchestra.folder.rglob("*") if path.is_file()}
    assert {name for name in written if not name.startswith(".orchestra/")} == set(files)


def test_bad_input_about_what_is_stored_is_refused_with_one_message(played: Command) -> None:
    assert played("blocks", "set", "topic", "two words").code == 0
    before = played("blocks", "list", "--json").json
    for arguments, message in OLD:
        # The message of a conflict shows the block as it is now.
        check_refused(played, arguments, message, lines=2 if "was at version" in message else 1)
    assert played("blocks", "list", "--json").json == before


def test_a_label_that_several_blocks_have_is_not_guessed(played: Command) -> None:
    assert played("chat", "pal", "--inline", "--session", "other", text="Hi.\n").code == 0
    check_refused(played, "blocks show topic", "several blocks are labelled 'topic'")


@pytest.mark.parametrize("command", ["blocks list", "sessions list", "watch", "run play.yaml --inline"])
def test_a_server_that_is_away_is_one_message_and_exit_code_1(project: Command, command: str) -> None:
    write(project.folder, {"cluster.yaml": "redis: {url: 'redis://:secret-word@127.0.0.1:1'}\n"})
    done = project(*command.split())
    assert done.code == 1
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert done.err.startswith("orchestra: Redis at redis://…@127.0.0.1:1 cannot be reached")
    assert "secret-word" not in done.err


def test_several_faults_of_a_file_are_a_line_each(orchestra: Command) -> None:
    write(orchestra.folder, {"wrong.yaml": "agents: []\nrun: a\nturns: []\nsesion: x\n"})
    done = orchestra("run", "wrong.yaml", "--json")
    assert done.code == 2
    assert done.out == ""
    assert len(done.err.splitlines()) > 1
    assert all("wrong.yaml:" in line for line in done.err.splitlines())
