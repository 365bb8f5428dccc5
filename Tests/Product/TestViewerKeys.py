#!/usr/bin/env python3
"""The viewer without a mouse: what each key of its help does, and that whatever
can be reached has a role and a name, in Chromium's tree of what it tells a
screen reader; and what goes on paper.  Without Chromium all is skipped.
"""

import json
import os
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import BrowserSupport                                        # noqa: E402
import StoreSupport as support                               # noqa: E402
import TestHtml as html                                      # noqa: E402
import TestViewer as viewer                                  # noqa: E402
from StoreSupport import programs                            # noqa: E402

# What people can do something with.
ROLES = {'button', 'tab', 'tabpanel', 'textbox', 'searchbox', 'combobox',
         'checkbox', 'slider', 'separator', 'link', 'table', 'grid', 'tree',
         'treegrid', 'columnheader', 'dialog', 'application', 'progressbar',
         'switch', 'menuitem', 'option', 'listbox', 'spinbutton',
         'DisclosureTriangle'}


class Keys:
    """A page whose keys are pressed, and its state after that."""

    def __init__(self, page):
        self.page, self.results = page, page.results
        self.browser = page.browser

    def settle(self):
        self.page.get('''(async () => {
            for (let still = 0; still < 4;) {
                await new Promise(requestAnimationFrame);
                still = Viewer.timeline.answers.running ? 0 : still + 1;
            }
        })()''')

    def press(self, *keys):
        for key in keys:
            modifiers = ()
            if '+' in key[1:]:
                *modifiers, key = key.split('+')
            self.browser.key(key, *modifiers)
            self.settle()

    def state(self):
        return self.page.get('({...Viewer.state, first: Viewer.session.begin, '
                             'last: Viewer.session.end})')

    def after(self, *keys):
        """The states before and after."""
        before = self.state()
        self.press(*keys)
        return before, self.state()

    def find(self, key):
        """The same of a key with which the engine looks for another call."""
        before = self.state()
        self.press(key)
        self.browser.wait_for('JSON.stringify(Viewer.state.call) !== %s' %
                              json.dumps(self.page.get(
                                  'JSON.stringify(%s)' %
                                  json.dumps(before['call']))))
        self.settle()
        return before, self.state()

    def check(self, condition, what, *detail):
        self.results.check(condition, 'keys: ' + what, detail)


def span(state):
    return state['end'] - state['begin']


def check_moving(keys):
    whole, closer = keys.after('w')
    keys.check(span(closer) < span(whole), 'W is closer', whole, closer)
    near, far = keys.after('s')
    keys.check(span(far) > span(near), 'S is farther', near, far)
    keys.press('w', '+', 'w')
    before, moved = keys.after('d')
    keys.check(moved['begin'] > before['begin'] and
               abs(span(moved) - span(before)) < 2, 'D is later', before,
               moved)
    before, moved = keys.after('a')
    keys.check(moved['begin'] < before['begin'] and
               abs(span(moved) - span(before)) < 2, 'A is earlier', before,
               moved)
    before, moved = keys.after('End')
    keys.check(moved['end'] == moved['last'] and
               abs(span(moved) - span(before)) < 2, 'End', moved)
    before, moved = keys.after('Home')
    keys.check(moved['begin'] == moved['first'] and
               abs(span(moved) - span(before)) < 2, 'Home', moved)
    _, moved = keys.after('0')
    keys.check((moved['begin'], moved['end']) ==
               (moved['first'], moved['last']), '0 is everything', moved)


def check_calls(keys):
    """From one call to those around it, by arrows."""
    _, chosen = keys.find('Enter')
    call = chosen['call']
    keys.check(call is not None, 'Enter chooses a call', chosen)
    while call['depth'] > 0:
        _, state = keys.find('ArrowUp')
        keys.check(state['call']['depth'] == call['depth'] - 1 and
                   state['call']['begin'] <= call['begin'] and
                   state['call']['end'] >= call['end'],
                   'up is the one around it', call, state['call'])
        call = state['call']
    _, state = keys.find('ArrowDown')
    inside = state['call']
    keys.check(inside['depth'] == call['depth'] + 1 and
               inside['begin'] >= call['begin'] and
               inside['end'] <= call['end'], 'down is inside', call, inside)
    _, state = keys.find('ArrowRight')
    later = state['call']
    keys.check(later['begin'] >= inside['end'] and
               later['thread'] == inside['thread'], 'right is later', inside,
               later)
    _, state = keys.find('ArrowLeft')
    keys.check(state['call']['begin'] < later['begin'], 'left is earlier',
               later, state['call'])
    call = state['call']
    _, state = keys.after('z')
    keys.check(state['begin'] <= call['begin'] and
               state['end'] >= call['end'] and
               (span(state) < 5 * (call['end'] - call['begin']) or
                span(state) <= 100), 'Z is near it', call, state)
    _, state = keys.after('r')
    keys.check(state['selection'] == {'begin': call['begin'],
                                      'end': call['end']},
               'R selects its time', call, state['selection'])
    before, state = keys.after('Shift+ArrowRight')
    keys.check(state['selection']['end'] - state['selection']['begin'] >
               before['selection']['end'] - before['selection']['begin'],
               'Shift and right makes it longer', before['selection'],
               state['selection'])
    function = call['function']
    keys.page.get('Viewer.set({function: %d})' % function)
    _, state = keys.find('n')
    following = state['call']
    keys.check(following['function'] == function and
               following['begin'] >= call['begin'], 'n is the next of it',
               call, following)
    _, state = keys.find('N')
    keys.check(state['call']['function'] == function and
               state['call']['begin'] <= following['begin'],
               'N is the previous of it', following, state['call'])
    _, state = keys.after('Escape')
    keys.check(state['call'] is None and state['selection'] is not None,
               'Escape: the call', state)
    _, state = keys.after('Escape')
    keys.check(state['selection'] is None and state['function'] is not None,
               'Escape: the selection', state)
    _, state = keys.after('Escape')
    keys.check(state['function'] is None, 'Escape: the function', state)


def check_rows(keys):
    """Threads and processes."""
    keys.press('0')
    _, state = keys.after('PageDown', 'x')
    first = state['pinned']
    keys.check(len(first) == 1, 'X pins a thread', first)
    _, state = keys.after('x')
    keys.check(state['pinned'] == [], 'X lets it go', state['pinned'])
    _, state = keys.after('PageDown', 'x')
    keys.check(len(state['pinned']) == 1 and state['pinned'] != first,
               'Page down is the next one', first, state['pinned'])
    _, state = keys.after('x', 'c')
    keys.check(len(state['collapsed']) == 1, 'c makes it one line', state)
    _, state = keys.after('c')
    keys.check(state['collapsed'] == [], 'c opens it', state)
    _, state = keys.after('C')
    processes = keys.page.get('Viewer.session.processes.map(each => "p" + '
                              'each.id)')
    keys.check(sorted(state['collapsed']) == sorted(processes),
               'C makes processes one line', state['collapsed'], processes)
    _, state = keys.after('C')
    keys.check(state['collapsed'] == [], 'C opens them', state)


def check_others(keys):
    page = keys.page
    keys.press('/')
    keys.check(page.get('document.activeElement.id') == 'search',
               '/ is the search')
    name = page.get('Viewer.engine.functions.find(each => each).name')
    keys.browser.type(name[:3])
    keys.settle()
    keys.check(keys.state()['filter'] == name[:3], 'what is searched')
    _, state = keys.find('Enter')
    keys.check(state['call'] is not None and name[:3].lower() in page.get(
        'Viewer.nameOf(%d)' % state['call']['function']).lower(),
               'Enter goes to one', state)
    keys.press('Escape')
    keys.check(keys.state()['filter'] == '', 'Escape ends the search')
    for key, dialog in ('?', 'help'), ('i', 'session'):
        keys.press(key)
        keys.check(page.get('document.getElementById(%r).open' % dialog),
                   key + ' opens ' + dialog)
        check_names(keys, 'dialog ' + dialog)
        keys.press('Escape')
        keys.check(not page.get('document.querySelector("dialog[open]") !== '
                                'null'), 'Escape closes ' + dialog)
    style = 'getComputedStyle(document.body).backgroundColor'
    colors = {page.get(style)}
    for _ in range(3):
        keys.press('t')
        colors.add(page.get(style))
    keys.check(len(colors) == 2, 'T is light and dark', colors)
    panels = page.get('Viewer.panels.filter(each => each.key).map(each => '
                      '[each.key, each.id])')
    keys.check(len(panels) >= 9, 'panels have keys', panels)
    for key, panel in panels:
        keys.press(str(key))
        keys.check(keys.state()['panel'] == panel, 'panel ' + panel)
        check_names(keys, 'panel ' + panel)


#
# What a screen reader is told.
#

def nameless(keys):
    """[role, text of the HTML] of what has no name."""
    nodes = keys.browser.command('Accessibility.getFullAXTree')['nodes']
    wrong, seen = [], set()
    for node in nodes:
        role = node.get('role', {}).get('value')
        if node.get('ignored') or role not in ROLES:
            continue
        seen.add(role)
        if not node.get('name', {}).get('value', '').strip():
            wrong.append([role, node.get('backendDOMNodeId')])
    return wrong, seen


def check_names(keys, what):
    wrong, seen = nameless(keys)
    keys.check(not wrong and 'button' in seen, what + ': names', wrong,
               sorted(seen))


def check_control(keys):
    """What has no name is found, and so is a role that is not there."""
    keys.page.get('''(() => {
        const button = document.createElement('button');
        button.id = 'nameless';
        document.querySelector('main, body').append(button);
    })()''')
    wrong, _ = nameless(keys)
    keys.check([each[0] for each in wrong] == ['button'],
               'control: a button without a name', wrong)
    keys.page.get('document.getElementById("nameless").remove()')
    before = keys.state()
    keys.press('q')
    keys.check(keys.state() == before, 'control: a key that does nothing')


#
# Paper.
#

def check_print(keys):
    """Buttons are not printed, tables are, with all that is in them."""
    page = keys.page
    keys.press('1')
    shown = ('[...document.querySelectorAll("button, input")].filter(each => '
             'each.getClientRects().length > 0 && '
             '!each.closest("[role=columnheader], th")).map(each => '
             'each.outerHTML)')
    keys.check(len(page.get(shown)) > 5, 'print: there are buttons on the screen')
    keys.browser.use_media('print')
    try:
        printed = page.get(shown)
        keys.check(printed == [], 'print: no buttons',
                   printed)
        keys.check(page.get('document.querySelector("#panels").innerText'
                            '.includes(Viewer.nameOf(0))'),
                   'print: the functions')
        pdf = keys.browser.command('Page.printToPDF')['data']
        keys.check(len(pdf) > 10000, 'print: a document', len(pdf))
    finally:
        keys.browser.use_media('screen')


def main():
    results = programs.Results()
    if BrowserSupport.find() is None:
        results.skip('TestViewerKeys needs Chromium')
        return results.finish()
    with programs.Scratch() as scratch, BrowserSupport.Browser() as browser:
        browser.prefer_colors('light')
        session = viewer.make_session(os.path.join(scratch, 'few'),
                                      html.HOSTILE, 11)
        support.reader('report', programs.windows_path(session))
        page = viewer.Page(results, browser, session)
        page.drop()
        keys = Keys(page)
        browser.command('Accessibility.enable')
        keys.settle()
        page.get('document.getElementById("timelineScroll").focus()')
        check_moving(keys)
        check_calls(keys)
        check_rows(keys)
        check_control(keys)
        check_others(keys)
        check_print(keys)
        page.check_quiet('keys')
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
