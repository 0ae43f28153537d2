import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.live.hash_table import ABSENT, HashTable

CODES = st.one_of(
    st.integers(-20, 20),
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.integers(0, 9).map(lambda k: k << 40),
)
EVENTS = st.lists(st.tuples(st.booleans(), st.lists(CODES, max_size=12, unique=True)), max_size=30)


@settings(deadline=None)
@given(EVENTS)
def test_is_a_dict(events):
    table, expected = HashTable(), {}
    for number, (comes, codes) in enumerate(events):
        if comes:
            table.insert(np.array(codes, np.int64), np.full(len(codes), number))
            expected |= dict.fromkeys(codes, number)
        else:
            gone = [code for code in codes if code in expected]
            table.remove(np.array(gone, np.int64))
            for code in gone:
                del expected[code]
        asked = [*codes, *expected]
        found = table.find(np.array(asked, np.int64)).tolist()
        assert found == [expected.get(code, ABSENT) for code in asked]
        assert len(table) == len(expected)
        assert table.clean


def test_nothing_of_a_removed_code_remains():
    table, codes = HashTable(), np.arange(10_000) * 7
    table.insert(codes, np.arange(10_000))
    table.remove(codes[::2])
    entries = table._entries
    assert not np.isin(codes[::2][1:], entries).any()
    assert table.find(codes[1::2]).tolist() == list(range(1, 10_000, 2))


def test_memory_follows_the_entries():
    table = HashTable()
    table.insert(np.arange(100_000), np.arange(100_000))
    assert table.nbytes < 100_000 * 16 / 0.75 * 1.5
    table.remove(np.arange(99_990))
    assert table.nbytes < 2_000
    assert table.find(np.array([99_995, 5])).tolist() == [99_995, ABSENT]
