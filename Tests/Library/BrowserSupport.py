"""A headless Chromium for tests that look at a page.

    with BrowserSupport.Browser(width=1400, height=900) as browser:
        browser.open('/folder/page.html')           a path, or a URL
        browser.wait_for('document.title != ""')    true, or BrowserError
        browser.evaluate('[...document.links].length')
        browser.evaluate('fetch("x").then(r => r.status)')  promises too
        browser.key('ArrowRight')
        browser.click(100, 200)
        browser.wheel(100, 200, -120)
        browser.choose_files('input[type=file]', ['/folder/profile.json'])
        browser.drop_files(100, 200, ['/folder'])
        browser.screenshot('/folder/page.png')
        browser.errors          what the page wrote with console.error, its
                                uncaught exceptions, what the browser logged
                                as an error
        browser.requests        the URLs that the page asked for, without
                                data: and blob: and the page's own

It is driven by puppeteer-core (Build/FetchPuppeteer.sh, Tests/Browser) over a
pipe, so no port is opened, and names are not resolved: what is not on this
machine cannot be reached.  find() says which program it is, or None: then a
test is to be skipped.
"""

import base64
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DRIVER = ROOT / 'Tests' / 'Browser' / 'Driver.mjs'
FETCH = ROOT / 'Build' / 'FetchPuppeteer.sh'
PROGRAMS = ('chromium', 'chromium-browser', 'google-chrome')

ARGUMENTS = (
    '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
    '--no-default-browser-check', '--disable-background-networking',
    '--disable-component-update', '--disable-extensions', '--disable-sync',
    '--disable-breakpad', '--mute-audio', '--force-color-profile=srgb',
    '--force-device-scale-factor=1',
    '--host-resolver-rules=MAP * ~NOTFOUND',
)


class BrowserError(Exception):
    """What the browser or the page's script said, or that time ran out."""


def find():
    """The path of a Chromium, or None."""
    for name in PROGRAMS:
        path = shutil.which(name)
        if path:
            return path
    return None


def url_of(path):
    """The file: URL of a path; a URL stays as it is."""
    if '://' in path or path.startswith('about:'):
        return path
    return pathlib.Path(path).resolve().as_uri()


class Browser:
    """One browser with one page."""

    def __init__(self, width=1400, height=900, arguments=(), seconds=300):
        self.seconds = seconds
        self.errors = []
        self.requests = []
        self.page = None
        self.last = 0
        self.pending = b''
        self.process = None
        self.folder = tempfile.mkdtemp(prefix='browser-')
        try:
            self._start(width, height, arguments)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _start(self, width, height, arguments):
        program = find()
        if program is None:
            raise BrowserError('no Chromium is installed')
        fetched = subprocess.run([FETCH], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE)
        if fetched.returncode != 0:
            raise BrowserError('puppeteer-core cannot be had')
        home = os.path.join(self.folder, 'home')
        os.mkdir(home)
        options = {
            'userDataDir': os.path.join(self.folder, 'profile'),
            'args': [*ARGUMENTS, '--window-size=%d,%d' % (width, height),
                     *arguments],
            'timeout': self.seconds * 1000,
            'protocolTimeout': self.seconds * 1000,
        }
        with open(os.path.join(self.folder, 'log'), 'wb') as log:
            self.process = subprocess.Popen(
                ['node', DRIVER, fetched.stdout.decode().strip(), program,
                 json.dumps(options)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                bufsize=0,
                env=dict(os.environ, HOME=home, XDG_CONFIG_HOME=home,
                         XDG_CACHE_HOME=home, LANG='C.UTF-8'),
                start_new_session=True)
        message = self._receive(time.monotonic() + self.seconds)
        if message != {'event': 'ready'}:
            raise BrowserError('the browser did not start: ' + self._log())
        self.resize(width, height)

    def close(self):
        """Ends the browser, and what it started."""
        if self.process is not None:
            try:
                self.process.stdin.close()
                self.process.wait(20)
            except (OSError, subprocess.TimeoutExpired):
                pass
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()
            self.process.stdout.close()
            self.process = None
        shutil.rmtree(self.folder, ignore_errors=True)

    #
    # The driver: a JSON object a line.
    #

    def _receive(self, end):
        """The next message, or None when there is none until end."""
        while b'\n' not in self.pending:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [],
                                              left)[0]:
                return None
            data = os.read(self.process.stdout.fileno(), 1 << 20)
            if not data:
                raise BrowserError('the browser ended: ' + self._log())
            self.pending += data
        message, self.pending = self.pending.split(b'\n', 1)
        return json.loads(message)

    def _log(self):
        with open(os.path.join(self.folder, 'log'), 'rb') as log:
            return log.read()[-2000:].decode('utf-8', 'replace')

    def _call(self, method, *args):
        self.last += 1
        data = json.dumps({'id': self.last, 'method': method,
                           'args': args}).encode() + b'\n'
        while data:
            data = data[os.write(self.process.stdin.fileno(), data):]
        end = time.monotonic() + self.seconds
        while True:
            message = self._receive(end)
            if message is None:
                raise BrowserError('%s: no answer in %d s' %
                                   (method, self.seconds))
            if 'event' in message:
                self._event(message['event'], message['params'])
            elif message['id'] == self.last:
                if 'error' in message:
                    raise BrowserError('%s: %s' % (str(args[:1])[:200],
                                                   message['error']))
                return message['result']

    def command(self, method, **params):
        """Any command of the DevTools protocol."""
        return self._call('send', method, params)

    def _event(self, method, params):
        if method == 'Runtime.consoleAPICalled':
            if params['type'] in ('error', 'assert'):
                self.errors.append(' '.join(
                    str(each.get('value', each.get('description')))
                    for each in params['args']))
        elif method == 'Runtime.exceptionThrown':
            details = params['exceptionDetails']
            self.errors.append(details.get('exception', {}).get(
                'description', details['text']))
        elif method == 'Log.entryAdded':
            if params['entry']['level'] == 'error':
                self.errors.append(params['entry']['text'])
        elif method == 'Network.requestWillBeSent':
            url = params['request']['url']
            if url != self.page and not url.startswith(('data:', 'blob:')):
                self.requests.append(url)

    def _until(self, condition, what, seconds=None):
        end = time.monotonic() + (seconds or self.seconds)
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end:
                raise BrowserError('waited too long for ' + what)
            time.sleep(0.02)

    #
    # The page.
    #

    def open(self, page, seconds=None):
        """Goes to a path or URL and waits until it is loaded."""
        self.evaluate('0')
        self.errors, self.requests = [], []
        self.page = url_of(page)
        self._call('open', self.page, (seconds or self.seconds) * 1000)

    def evaluate(self, expression):
        """A script's value, which must be what JSON can say."""
        return self._call('evaluate', expression)

    def wait_for(self, expression, seconds=None):
        """Waits until a script's value is true, and gives it."""
        return self._until(lambda: self.evaluate(expression), expression,
                           seconds)

    def resize(self, width, height):
        self._call('resize', width, height)

    def prefer_colors(self, scheme):
        """Makes prefers-color-scheme light or dark."""
        self._call('media', [{'name': 'prefers-color-scheme',
                              'value': scheme}])

    def use_media(self, kind):
        """Shows the page as on paper ('print'), or on a screen again."""
        self._call('mediaType', kind)

    def screenshot(self, path=None):
        """A PNG of what is visible: its bytes, also written to path."""
        data = base64.b64decode(self._call('screenshot'))
        if path is not None:
            with open(path, 'wb') as file:
                file.write(data)
        return data

    def key(self, key, *modifiers):
        """Presses a key: a character, or a name such as ArrowLeft."""
        self._call('key', key, modifiers)

    def type(self, text):
        """Types into what has the focus."""
        for character in text:
            self._call('type', character)

    def move(self, x, y):
        self._call('move', x, y)

    def click(self, x, y, count=1):
        self._call('click', x, y, count)

    def click_on(self, selector):
        """Scrolls to an element and clicks into its middle."""
        place = self.evaluate(
            '(() => { const e = document.querySelector(%s); if (!e) return'
            ' null; e.scrollIntoView({block: "nearest", inline: "nearest"});'
            ' const r = e.getBoundingClientRect(); return [r.left + r.width'
            ' / 2, r.top + r.height / 2]; })()' % json.dumps(selector))
        if place is None:
            raise BrowserError('there is no ' + selector)
        self.click(*place)

    def drag(self, x, y, to_x, to_y, steps=4, modifiers=()):
        self._call('drag', x, y, to_x, to_y, steps, modifiers)

    def wheel(self, x, y, delta, delta_x=0, *modifiers):
        self._call('wheel', x, y, delta_x, delta, modifiers)

    def choose_files(self, selector, paths):
        """Gives an <input type=file> files, as if the user had."""
        self._call('chooseFiles', selector,
                   [os.path.abspath(path) for path in paths])

    def drop_files(self, x, y, paths):
        """Drops files and folders on the page, as if the user had."""
        self._call('dropFiles', x, y,
                   [os.path.abspath(path) for path in paths])
