#!/usr/bin/env python3
"""export: Chrome's and speedscope's files hold every call, and speedscope
shows what report says.

What the files of made-up sessions must hold comes from trace_reader.py, of
traced ones from replay.  speedscope itself (Build/FetchSpeedscope.sh), in a
headless Chromium, opens files of all formats that it reads; the weights that it
has found are compared with report's, and with those of the events.
"""
# Takes long.

import collections
import decimal
import json
import os
import random
import re
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import BrowserSupport                                        # noqa: E402
import EventSupport as events                                # noqa: E402
import StoreSupport as support                               # noqa: E402
import TestImportNames as imports                            # noqa: E402
import ThreadSupport                                         # noqa: E402
from StoreSupport import programs                            # noqa: E402

SCHEMA = 'https://www.speedscope.app/file-format-schema.json'

#
# speedscope's page is made by Preact, which keeps what it shows, and the
# properties that it was given, in its elements.
#

PROFILES = '''(() => {
    const seen = new Set();
    let group = null, failed = false;
    const look = node => {
        if (!node || typeof node !== 'object' || seen.has(node)) return;
        seen.add(node);
        if (Array.isArray(node)) { node.forEach(look); return; }
        const props = node.__c && node.__c.props;
        group = props && props.profileGroup || group;
        failed = props && props.error === true || failed;
        look(node.__k);
    };
    [document.body, ...document.body.children].forEach(
        element => look(element.__k));
    if (window.said.length || failed)
        return {said: window.said, failed: failed};
    if (!group) return null;
    return {profiles: group.profiles.map(({profile}) => {
        const frames = [];
        profile.forEachFrame(frame => frames.push(
            [frame.name, frame.getTotalWeight(), frame.getSelfWeight()]));
        return {name: profile.getName(), unit: profile.getWeightUnit(),
                frames: frames};
    })};
})()'''


#
# The two formats.
#

def read_chrome(path):
    with open(path, 'rb') as file:
        data = json.loads(file.read().decode(), parse_float=decimal.Decimal)
    assert data['displayTimeUnit'] == 'ns'
    assert set(data['otherData']) <= {'tool', 'session', 'clock', 'times',
                                      'part'}
    names, tracks = {}, {}
    for event in data['traceEvents']:
        if event['ph'] == 'M':
            if event['name'] == 'thread_name':
                assert (event['pid'], event['tid']) not in names
                names[event['pid'], event['tid']] = event['args']['name']
            continue
        assert 'args' not in event
        mark = event.get('mark')
        tracks.setdefault(names[event['pid'], event['tid']], []).append(
            (event['ph'], event['name'], int(event['ts'] * 1000), mark))
        assert event['ph'] == 'E' or event['cat']
    assert len(set(names.values())) == len(names)
    return tracks


def read_speedscope(path):
    with open(path, 'rb') as file:
        data = json.loads(file.read().decode())
    assert data['$schema'] == SCHEMA
    frames = [frame['name'] for frame in data['shared']['frames']]
    tracks = {}
    for profile in data['profiles']:
        assert profile['type'] == 'evented' and profile['name'] not in tracks
        assert profile['unit'] in ('nanoseconds', 'none')
        tracks[profile['name']] = [
            ({'O': 'B', 'C': 'E'}[event['type']], frames[event['frame']],
             event['at'], None) for event in profile['events']]
        assert (profile['startValue'] <= profile['events'][0]['at'] <=
                profile['events'][-1]['at'] <= profile['endValue'])
    return tracks


READ = {'chrome': read_chrome, 'speedscope': read_speedscope}


def check_formats(results, scratch, session):
    """Both formats on a made-up session."""
    exporter = events.Exporter(results, scratch, session, 'made-up')
    tracks, records = events.read_events(session)
    results.check(len(tracks) >= 5 and
                  {event[3] for each in tracks.values() for event in each} ==
                  {None, 'abandoned', 'unfinished'} and
                  {event[1] for each in tracks.values() for event in each} ==
                  set(events.SHOWN), 'what the made-up session has')
    for form, read in READ.items():
        path, found = events.check_made_up(exporter, tracks, records, form,
                                           read, marks=form == 'chrome')
        name = max(found, key=lambda each: len(found[each]))
        del found[name][len(found[name]) // 2]
        expected = tracks if form == 'chrome' else events.without_marks(tracks)
        results.check(events.differences(found, expected),
                      'control: %s, an event less' % form)
        with open(path, 'rb') as file:
            data = file.read()
        try:
            json.loads(data[:len(data) // 2].decode('utf-8', 'replace'))
            results.check(False, 'control: %s, half a file' % form)
        except ValueError:
            results.check(True, 'control: %s, half a file' % form)


def check_clocks(results, scratch):
    """Ticks; and no clock, which is refused."""
    numbers = random.Random(3)
    records = [events.random_records(numbers, 200, 1000)]
    bare = events.make_session(os.path.join(scratch, 'bare'), records,
                               at0xE0=bytes(0x40))
    tracks, _ = events.read_events(bare)
    exporter = events.Exporter(results, scratch, bare, 'ticks')
    for form, read in READ.items():
        (path,), _ = exporter.export(form)
        found = read(path)
        results.check(not events.differences(
            events.without_marks(found), events.without_marks(tracks)),
            '%s: ticks' % form)
        with open(path, encoding='utf-8') as file:
            text = file.read()
        results.check('ticks' in text, '%s: says ticks' % form)
    none = events.make_session(os.path.join(scratch, 'none'), records,
                               at0x3C=b'\2\0\0\0')
    exporter = events.Exporter(results, scratch, none, 'none')
    for form in READ:
        _, said = exporter.export(form, code=1)
        results.check('no times' in said, '%s: without a clock' % form, [said])


def check_deep(results, scratch):
    """Many more open calls than fit into a part: it still ends."""
    records = []
    for depth in range(6000):
        records.append((1000 + depth, events.filters.FIRST, events.made.TOP -
                        0x1000 - 16 * depth, events.made.ENTER))
    for depth in reversed(range(6000)):
        records.append((20000 - depth, events.filters.FIRST + 9,
                        events.made.TOP - 0x1000 - 16 * depth,
                        events.made.EXIT))
    session = events.make_session(os.path.join(scratch, 'deep'), [records])
    tracks, _ = events.read_events(session)
    exporter = events.Exporter(results, scratch, session, 'deep')
    paths, _ = exporter.export('chrome', '--split-size', '64K')
    joined, wrong = events.join(map(read_chrome, paths))
    wrong += events.differences(joined, tracks)
    results.check(3 < len(paths) < 40 and not wrong, 'deep: parts',
                  [len(paths)] + wrong)


def check_bad(results, scratch, session):
    """What cannot be written leaves nothing, and says why."""
    exporter = events.Exporter(results, scratch, session, 'bad')
    folder = os.path.join(scratch, 'bad')
    os.makedirs(os.path.join(folder, 'taken'))
    for form in READ:
        for name in ('taken', os.path.join('nowhere', 'calls')):
            code, _, errors = support.reader(
                'export', '--format', form, '-o',
                programs.windows_path(os.path.join(folder, name)),
                exporter.session)
            results.check(code == 1 and 'file' in errors,
                          '%s: %s' % (form, name), [code, errors])
        results.equal(os.listdir(folder), ['taken'], '%s: left' % form)
        paths, said = exporter.export(form, '--function', 'Nothing', code=3)
        results.equal(READ[form](paths[0]), {}, '%s: nothing' % form)
        results.check('leave no function' in said, '%s: said' % form, [said])


#
# Traced programs.
#

def trace_programs(results, scratch):
    """Sessions without their clocks: name -> folder."""
    builds = ThreadSupport.Builds(scratch)
    busy = support.build_busy(os.path.join(scratch, 'busy-build'))
    fibers = builds.add('penter', 'Fibers.c', 'Fibers.exe')
    hostile = builds.add('penter', 'Hostile.c', 'Hostile.exe')
    wanted = {
        'busy': (busy, ['run', '2', '300', programs.PAUSE], 0),
        'killed': (busy, ['kill', programs.windows_path(
            os.path.join(scratch, 'progress')), '2000'],
            support.BUSY_EXIT_CODE),
        'fibers': (fibers, ['switch', '2000'], 0),
        'overflow': (hostile, ['overflow'], 0),
    }
    found = {}
    for name, (program, arguments, code) in wanted.items():
        folder = os.path.join(scratch, name)
        for attempt in range(3):
            directory = os.path.join(folder, str(attempt))
            os.makedirs(directory)
            done = support.run(program, *arguments, directory=directory)
            sessions = support.sessions(directory)
            if done[0] == code and len(sessions) == 1:
                break
        if results.check(len(sessions) == 1, 'tracing %s' % name, [done]):
            found[name] = events.without_anchors(
                sessions[0], os.path.join(folder, 'ticks'))
    return found


def check_traced(results, scratch, name, session):
    """Both formats against replay."""
    exporter = events.Exporter(results, scratch, session, name)
    rows = exporter.json('replay')['events']
    tracks = events.replayed(rows)
    marks = {event[3] for each in tracks.values() for event in each}
    results.check(tracks and (
        name != 'fibers' or sum('fiber' in each for each in tracks) > 5) and
        (name != 'overflow' or 'abandoned' in marks),
        '%s: what was traced' % name, [sorted(tracks), marks])
    times = sorted(event[2] for each in tracks.values() for event in each)
    for form, read in READ.items():
        (path,), _ = exporter.export(form)
        found = {re.sub(r' \(.*\)', '', track): each
                 for track, each in read(path).items()}
        expected = tracks
        if form == 'speedscope':
            expected = events.without_marks(tracks)
            found = events.without_marks(found)
        wrong = events.differences(found, expected)
        results.check(not wrong, '%s: %s' % (name, form), wrong)
        (path,), _ = exporter.export(
            form, '--from', str(times[len(times) // 3]), '--to',
            str(times[len(times) * 2 // 3]))
        wrong = events.problems(read(path))
        results.check(not wrong, '%s: %s, a range' % (name, form), wrong)
    return exporter, tracks


#
# speedscope.
#

class Speedscope:
    def __init__(self, browser, pages):
        self.browser, self.pages = browser, pages

    def load(self, path):
        self.browser.open(os.path.join(self.pages, 'index.html'))
        self.browser.wait_for("document.querySelector('input[type=file]')"
                              " !== null")
        self.browser.evaluate('window.said = [];'
                              'window.alert = text => window.said.push(text);'
                              'window.warned = [];'
                              'console.warn = text => window.warned.push(text)')
        self.browser.choose_files('input[type=file]', [path])
        return self.browser.wait_for(PROFILES)

    def warnings(self):
        """What speedscope has warned of since it loaded the file."""
        return self.browser.evaluate('window.warned')

    def weights(self, path):
        """Function -> [total, self], of all profiles, in nanoseconds."""
        loaded = self.load(path)
        if 'profiles' not in loaded:
            return loaded
        sums = collections.defaultdict(lambda: [0, 0])
        for profile in loaded['profiles']:
            scale = 1000 if profile['unit'] == 'microseconds' else 1
            for name, total, own in profile['frames']:
                sums[name][0] += total * scale
                sums[name][1] += own * scale
        return {name: [round(each) for each in both]
                for name, both in sums.items() if any(both)}


def weight_differences(found, expected, tolerance=0):
    return ['%r: %s, %s expected' % (name, found.get(name),
                                     expected.get(name))
            for name in sorted(set(found) | set(expected))
            if any(abs(each - other) > tolerance for each, other in
                   zip(found.get(name, [0, 0]), expected.get(name, [0, 0])))]


def check_speedscope(results, scratch, page, name, session, tracks):
    """Every format that speedscope reads, against report or the events."""
    exporter = events.Exporter(results, scratch, session, 'speedscope ' + name)
    expected = {function: both[1:] for function, both in
                events.weights(tracks).items() if any(both[1:])}
    forms = {'chrome': '.json', 'speedscope': '.speedscope.json'}
    rows = exporter.json('report')['functions']
    if not any(row['abandoned'] for row in rows) and \
            not any('fiber' in track for track in tracks):
        forms['folded'] = '.txt'
        forms['callgrind'] = '.callgrind'
        reported = {}
        for row in rows:
            reported[row['function']] = [
                row.get('total_ns', row.get('total_ticks')),
                row.get('self_ns', row.get('self_ticks'))]
        reported = {function: both for function, both in reported.items()
                    if any(both)}
        results.check(not weight_differences(reported, expected),
                      '%s: report and events' % name,
                      weight_differences(reported, expected))
    for form, extension in forms.items():
        (path, *_), _ = exporter.export(form, extension=extension)
        found = page.weights(path)
        if form == 'callgrind':

            #
            # speedscope makes a tree of the profile, without what is small
            # beside the whole, and shares out inclusive costs by its own rules.
            #

            found, known = ({each: [0, both[1]] for each, both in all_of.items()}
                            for all_of in (found, expected))
            wrong = weight_differences(found, known, sum(
                own for _, own in known.values()) // 100)
        elif form == 'chrome':

            #
            # A picosecond for each event that comes at the time of another.
            #

            wrong = weight_differences(found, expected, 1 + sum(
                map(len, tracks.values())) // 500)
        else:
            wrong = weight_differences(found, expected)
        warned = page.warnings() if form == 'chrome' else []
        results.check(not wrong and not warned,
                      '%s: speedscope reads %s' % (name, form), wrong + warned)
    return exporter


def check_names(results, page, exporter, tracks, name):
    """Names are the functions', also in ranges and parts; every end has its
    beginning."""
    functions = {event[1] for track in tracks.values() for event in track}
    times = sorted(event[2] for track in tracks.values() for event in track)
    middle = times[len(times) // 2]
    for options, mark in (
            (['--from', str(middle)], 'begun_before'),
            (['--to', str(middle)], 'unfinished'),
            (['--split-size', '65536'], 'continued')):
        what = '%s: speedscope, %s' % (name, options[0])
        paths = exporter.export('chrome', *options, extension='.json')[0]
        for path in paths[-2:]:
            with open(path, encoding='utf-8') as file:
                data = file.read()
            loaded = page.load(path)
            found = {frame[0] for profile in loaded.get('profiles', [])
                     for frame in profile['frames']}
            results.check(found and found <= functions and
                          '"mark":"%s"' % mark in data and
                          not page.warnings(), what,
                          [loaded.get('said'), sorted(found - functions)[:9],
                           page.warnings()[:9]])

    # Control: as arguments the marks become names, and ends lose their calls.
    with open(path, 'w', encoding='utf-8') as file:
        file.write(re.sub(r'"mark":("\w+")', r'"args":{\1:true}', data))
    found = {frame[0] for profile in page.load(path)['profiles']
             for frame in profile['frames']}
    results.check(found - functions and page.warnings(),
                  'control: speedscope, marks as arguments',
                  [sorted(found), page.warnings()[:3]])


def weights_of_imports(rows):
    """Function -> [total, self] from replay, with the modules that called
    where no function of theirs did."""
    sums, stacks, names = collections.defaultdict(lambda: [0, 0]), {}, {}
    for row in rows:
        key = row['thread_id'], row['fiber']
        stack = stacks.setdefault(key, [])
        if row['event'] == 'enter':
            caller = row['caller_module']
            above = stack[-1][1].lower() if stack else None
            frames = [row['function']]
            if caller and above != caller.lower():
                frames.insert(0, '[%s]' % caller)
            stack.append([frames, row['module'], 0])
            continue
        frames, _, inside = stack.pop()
        for frame in frames:
            if not any(frame in each[0] for each in stack):
                sums[frame][0] += row['duration_ns']
        sums[frames[-1]][1] += row['duration_ns'] - inside
        if stack:
            stack[-1][2] += row['duration_ns']
    return dict(sums)


def check_imports(results, scratch, page):
    """The modules that called imports, as speedscope reads them."""
    made = imports.Programs(scratch)
    for name in 'Names.exe', 'Hooked.exe':
        session = made.run(results, name, '--imports', imports.LISTS)
        rows = json.loads(support.reader('replay', '--json', session)[1])
        expected = weights_of_imports(rows['events'])
        path = imports.export(results, made, 'speedscope', session)
        wrong = weight_differences(page.weights(path), expected,
                                   len(rows['events']))
        results.check(not wrong, '%s: speedscope, imports' % name, wrong)
        results.equal({frame for frame in expected if frame[0] == '['},
                      {'[names.exe]'} if name == 'Names.exe' else set(),
                      '%s: speedscope, modules' % name)


def check_page(results, scratch, sessions):
    pages = programs.run([os.path.join(programs.ROOT, 'Build',
                                       'FetchSpeedscope.sh')])
    if pages[0] != 0:
        results.skip('speedscope cannot be had')
        return
    if BrowserSupport.find() is None:
        results.skip('there is no Chromium')
        return
    with BrowserSupport.Browser() as browser:
        page = Speedscope(browser, pages[1].strip())
        for name, (session, tracks) in sessions.items():
            exporter = check_speedscope(results, scratch, page, name, session,
                                        tracks)
            if name == 'made-up':
                check_names(results, page, exporter, tracks, name)
        check_imports(results, os.path.join(scratch, 'imports'), page)

        #
        # Controls: half a file is refused; with a call less, the weights are
        # others.
        #

        tracks = sessions[name][1]
        expected = {function: both[1:] for function, both in
                    events.weights(tracks).items() if any(both[1:])}
        for form in READ:
            (path,), _ = exporter.export(form, extension='.json')
            with open(path, encoding='utf-8') as file:
                text = file.read()
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text[:len(text) // 2])
            loaded = page.load(path)
            results.check('profiles' not in loaded or
                          weight_differences(page.weights(path), expected),
                          'control: speedscope, half of %s' % form, [loaded])
            lines = text.splitlines(keepends=True)
            marks = {'chrome': ('"ph":"B"', '"ph":"E"'),
                     'speedscope': ('"type":"O"', '"type":"C"')}[form]
            index = next(number for number in range(10, len(lines))
                         if marks[0] in lines[number] and
                         marks[1] in lines[number + 1] and
                         lines[number + 1].endswith(',\n') and
                         time_of(lines[number]) != time_of(lines[number + 1]))
            del lines[index:index + 2]
            with open(path, 'w', encoding='utf-8') as file:
                file.write(''.join(lines))
            results.check(weight_differences(page.weights(path), expected),
                          'control: speedscope, %s, a call less' % form)


def time_of(line):
    return line.split('"ts":' if '"ts":' in line else '"at":')[1].split(
        ',')[0].rstrip('}\n')


def main():
    results = programs.Results()
    if not support.has_reader():
        results.skip('there is no TraceReader')
        return results.finish()
    numbers = random.Random(11)
    with programs.Scratch() as scratch:
        session = events.make_session(os.path.join(scratch, 'made'), [
            events.random_records(numbers, 2500, 1000 + 50 * thread,
                                  fibers=3 * (thread == 1))
            for thread in range(3)])
        check_formats(results, scratch, session)
        events.check_times(results, scratch, {
            'chrome': (read_chrome, True),
            'speedscope': (read_speedscope, False)})
        check_clocks(results, scratch)
        check_deep(results, scratch)
        check_bad(results, scratch, session)
        sessions = {'made-up': (session, events.read_events(session)[0])}
        for name, folder in trace_programs(results, scratch).items():
            _, tracks = check_traced(results, scratch, name, folder)
            if name in ('busy', 'fibers'):
                sessions[name] = (folder, tracks)
        check_page(results, scratch, sessions)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
