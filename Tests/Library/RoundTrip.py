"""Every session that a test made goes through pack and unpack, and every record
of it has to come back.

Done at the end of a test's folder if TEST_ROUND_TRIP is set (make test-compact).
A store is equal if its bytes are, or if its header and its records are and it is
a ring or a compact store: of those the room that nobody reads is not packed.
"""

import collections
import os
import re
import shutil
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs, trace_reader              # noqa: E402

UNNAMEABLE = re.compile(r'[\\/:*?"<>|\x00-\x1f]')
DEVICE = re.compile(r'(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])'
                    r' *(\.|$)', re.I)
PACKED = '.tracepack'
# Of a header: where blocks and the ring lie in the file, and how much of it is
# mapped, is of the file and not of what it has recorded.
OF_THE_FILE = ('BlocksFileOffset', 'BlocksEnd', 'BlocksTail', 'BlocksFirst',
               'BlocksCapacity')


def sessions_below(folder):
    return sorted(above for above, _, names in os.walk(folder)
                  if any(name.endswith('.trace') for name in names))


def same_bytes(left, right):
    """Whether the file right is left without zeroes behind its end."""
    if os.path.getsize(left) < os.path.getsize(right):
        return False
    with open(left, 'rb') as one, open(right, 'rb') as other:
        while True:
            piece, same = one.read(1 << 16), other.read(1 << 16)
            if piece != same and (piece[:len(same)] != same or
                                  piece[len(same):].strip(b'\0')):
                return False
            if not piece:
                return True


def records_of(store):
    """(position, bytes) as a flat list of records, whatever its pieces are."""
    found = []
    for position, body in store.contents():
        found.append((position, bytes(body)))
    merged = []
    for position, body in found:
        if merged and merged[-1][0] + len(merged[-1][1]) == position:
            merged[-1] = merged[-1][0], merged[-1][1] + body
        else:
            merged.append((position, body))
    return merged


def differences(left, right):
    """What two stores of records do not have in common."""
    try:
        first, second = trace_reader.Store(left), trace_reader.Store(right)
    except trace_reader.FormatError as error:
        return [str(error)]
    wrong = ['%s: %s, %s' % (name, getattr(first, name), getattr(second, name))
             for name in (*trace_reader.FIELDS, *trace_reader.TEXTS,
                          *trace_reader.TIMES)
             if name not in OF_THE_FILE and
             getattr(first, name) != getattr(second, name)]
    pieces, others = records_of(first), records_of(second)
    if pieces != others:
        wrong.append('records: %s, %s' % tuple(
            [(position, len(body)) for position, body in store]
            for store in (pieces, others)))
    if first.anchors != second.anchors:
        wrong.append('anchors')
    return wrong


def stores_of(session):
    return [os.path.join(session, name) for name in sorted(os.listdir(session))
            if name.endswith('.trace') and
            os.path.isfile(os.path.join(session, name))]


def check_session(session, place, counts):
    """What is wrong with the round trip of a session, as lines."""
    packed = os.path.join(place, 'round' + PACKED)
    again = os.path.join(place, 'round')
    path = programs.windows_path(session)
    code, text, errors = support.reader('pack', '-o',
                                     programs.windows_path(packed), path)
    if code != 0:
        if all(is_refused(left) for left in stores_of(session)):
            counts['sessions without a store that can be read'] += 1
            return []
        return ['pack: %s: %s' % (code, errors.strip())]
    said = text
    code, text, errors = support.reader('unpack', '-o',
                                     programs.windows_path(again),
                                     programs.windows_path(packed))
    if code != 0:
        return ['unpack: %s: %s' % (code, errors.strip())]
    wrong = []
    back = {name: os.path.join(above, name)
            for above, _, names in os.walk(again) for name in names}
    for left in stores_of(session):
        name = os.path.basename(left)
        right = back.get(name)
        if right is None:
            if not is_name_of_windows(name):
                counts['stores that Windows cannot name'] += 1
            elif is_refused(left):
                counts['stores that are refused'] += 1
            else:
                wrong.append('%s is not there; %s; %s; %s' %
                             (name, said, text, sorted(back)))
            continue
        if same_bytes(left, right):
            counts['stores, byte for byte'] += 1
            continue
        other = differences(left, right)
        if not other:
            counts['stores, record for record'] += 1
        elif has_damaged_block(left):
            counts['stores with a damaged block'] += 1
        else:
            wrong.append('%s: %s' % (name, '; '.join(other)))
    counts['sessions'] += 1
    return wrong


def is_name_of_windows(name):
    return not (UNNAMEABLE.search(name) or DEVICE.match(name))


def has_damaged_block(path):
    """What a test has damaged: only what can be decoded is packed."""
    store = trace_reader.Store(path)
    return bool(sum(1 for _ in store.contents()) and store.bad['block'])


def is_refused(path):
    try:
        trace_reader.Store(path)
    except trace_reader.FormatError:
        return True
    return False


def check_folder(results, folder):
    """Checks every session in a folder; the results count."""
    counts = collections.Counter()
    place = os.path.join(folder, 'round-trip')
    for session in sessions_below(folder):
        os.makedirs(place)
        try:
            wrong = check_session(session, place, counts)
            results.check(not wrong, 'round trip of ' +
                          os.path.relpath(session, folder), wrong)
        finally:
            shutil.rmtree(place, ignore_errors=True)
    if counts:
        print('round trips: ' + ', '.join(
            '%d %s' % (number, name)
            for name, number in sorted(counts.items())))
