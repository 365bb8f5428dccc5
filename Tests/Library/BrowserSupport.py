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
        browser.screenshot('/folder/page.png')
        browser.errors          what the page wrote with console.error, its
                                uncaught exceptions, what the browser logged
                                as an error
        browser.requests        the URLs that the page asked for, without
                                data: and blob: and the page's own

It is driven by the DevTools protocol over a pipe, so no port is opened, and
names are not resolved: what is not on this machine cannot be reached.  find()
says which program it is, or None: then a test is to be skipped.
"""

import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time

PROGRAMS = ('chromium', 'chromium-browser', 'google-chrome')

ARGUMENTS = (
    '--headless=new', '--no-sandbox', '--disable-gpu',
    '--disable-dev-shm-usage', '--no-first-run',
    '--no-default-browser-check', '--disable-background-networking',
    '--disable-component-update', '--disable-extensions', '--disable-sync',
    '--disable-breakpad', '--mute-audio', '--force-color-profile=srgb',
    '--force-device-scale-factor=1',
    '--host-resolver-rules=MAP * ~NOTFOUND', '--remote-debugging-pipe',
)

# What the DevTools protocol calls the keys that are not characters.
KEY_CODES = {
    'Backspace': 8, 'Tab': 9, 'Enter': 13, 'Escape': 27, 'PageUp': 33,
    'PageDown': 34, 'End': 35, 'Home': 36, 'ArrowLeft': 37, 'ArrowUp': 38,
    'ArrowRight': 39, 'ArrowDown': 40, 'Delete': 46,
}

MODIFIERS = {'Alt': 1, 'Control': 2, 'Meta': 4, 'Shift': 8}


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
        self.events = []            # (method, params) that nobody took yet
        self.page = None
        self.session = None
        self.last = 0
        self.pending = b''
        self.process = self.reading = self.writing = None
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

        # The browser reads commands from its descriptor 3 and writes to 4.
        theirs_in, self.writing = os.pipe()
        self.reading, theirs_out = os.pipe()
        low = fcntl.fcntl(theirs_in, fcntl.F_DUPFD, 20)
        high = fcntl.fcntl(theirs_out, fcntl.F_DUPFD, 20)
        os.close(theirs_in)
        os.close(theirs_out)

        def arrange():
            os.dup2(low, 3)
            os.dup2(high, 4)

        home = os.path.join(self.folder, 'home')
        os.mkdir(home)
        with open(os.path.join(self.folder, 'log'), 'wb') as log:
            self.process = subprocess.Popen(
                [program, *ARGUMENTS, '--user-data-dir=' +
                 os.path.join(self.folder, 'profile'),
                 '--window-size=%d,%d' % (width, height), *arguments,
                 'about:blank'],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=dict(os.environ, HOME=home, XDG_CONFIG_HOME=home,
                         XDG_CACHE_HOME=home, LANG='C.UTF-8'),
                preexec_fn=arrange, pass_fds=(3, 4), start_new_session=True)
        os.close(low)
        os.close(high)

        target = self._until(lambda: next(
            (each for each in self._command('Target.getTargets')['targetInfos']
             if each['type'] == 'page'), None), 'a page')
        self.session = self._command('Target.attachToTarget', flatten=True,
                                     targetId=target['targetId'])['sessionId']
        for domain in ('Page', 'Runtime', 'Network', 'Log', 'DOM'):
            self._command(domain + '.enable')
        self.resize(width, height)

    def close(self):
        """Ends the browser and removes what it wrote."""
        if self.process is not None:
            try:
                if self.process.poll() is None:
                    self.session = None
                    self._send('Browser.close')
                self.process.wait(60)
            except (OSError, subprocess.TimeoutExpired):
                pass
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()
            self.process = None
        for descriptor in (self.reading, self.writing):
            if descriptor is not None:
                os.close(descriptor)
        self.reading = self.writing = None
        shutil.rmtree(self.folder, ignore_errors=True)

    #
    # The protocol: JSON objects, each followed by a zero byte.
    #

    def _send(self, method, **params):
        self.last += 1
        message = {'id': self.last, 'method': method, 'params': params}
        if self.session is not None:
            message['sessionId'] = self.session
        data = json.dumps(message).encode() + b'\0'
        while data:
            data = data[os.write(self.writing, data):]
        return self.last

    def _receive(self, end):
        """The next message, or None when there is none until end."""
        while b'\0' not in self.pending:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.reading], [], [],
                                              left)[0]:
                return None
            data = os.read(self.reading, 1 << 20)
            if not data:
                raise BrowserError('the browser ended: ' + self._log())
            self.pending += data
        message, self.pending = self.pending.split(b'\0', 1)
        return json.loads(message)

    def _log(self):
        with open(os.path.join(self.folder, 'log'), 'rb') as log:
            return log.read()[-2000:].decode('utf-8', 'replace')

    def _command(self, method, **params):
        number = self._send(method, **params)
        end = time.monotonic() + self.seconds
        while True:
            message = self._receive(end)
            if message is None:
                raise BrowserError('%s: no answer in %d s' %
                                   (method, self.seconds))
            if message.get('id') == number:
                if 'error' in message:
                    raise BrowserError('%s: %s' %
                                       (method, message['error']['message']))
                return message['result']
            if 'method' in message:
                self._event(message['method'], message['params'])

    def command(self, method, **params):
        """Any command of the DevTools protocol."""
        return self._command(method, **params)

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
        elif method == 'Page.loadEventFired':
            self.events.append((method, params))

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
        self.errors, self.requests, self.events = [], [], []
        self.page = url_of(page)
        gone = self._command('Page.navigate', url=self.page)
        if gone.get('errorText'):
            raise BrowserError('%s: %s' % (self.page, gone['errorText']))

        def loaded():
            self.evaluate('0')
            return any(each[0] == 'Page.loadEventFired'
                       for each in self.events)
        self._until(loaded, 'the page to be loaded', seconds)

    def evaluate(self, expression):
        """A script's value, which must be what JSON can say."""
        result = self._command('Runtime.evaluate', expression=expression,
                               returnByValue=True, awaitPromise=True,
                               userGesture=True)
        if 'exceptionDetails' in result:
            details = result['exceptionDetails']
            raise BrowserError('%s: %s' % (expression[:200], details.get(
                'exception', {}).get('description', details['text'])))
        return result['result'].get('value')

    def wait_for(self, expression, seconds=None):
        """Waits until a script's value is true, and gives it."""
        return self._until(lambda: self.evaluate(expression), expression,
                           seconds)

    def resize(self, width, height):
        self._command('Emulation.setDeviceMetricsOverride', width=width,
                      height=height, deviceScaleFactor=1, mobile=False)

    def prefer_colors(self, scheme):
        """Makes prefers-color-scheme light or dark."""
        self._command('Emulation.setEmulatedMedia', features=[
            {'name': 'prefers-color-scheme', 'value': scheme}])

    def screenshot(self, path=None):
        """A PNG of what is visible: its bytes, also written to path."""
        data = base64.b64decode(self._command('Page.captureScreenshot',
                                              format='png')['data'])
        if path is not None:
            with open(path, 'wb') as file:
                file.write(data)
        return data

    def key(self, key, *modifiers):
        """Presses a key: a character, or a name such as ArrowLeft."""
        params = {'key': key,
                  'modifiers': sum(MODIFIERS[each] for each in modifiers)}
        if key in KEY_CODES:
            params.update(code=key, windowsVirtualKeyCode=KEY_CODES[key])
            if key == 'Enter':
                params['text'] = '\r'
        else:
            params.update(text=key, windowsVirtualKeyCode=ord(key.upper()))
        self._command('Input.dispatchKeyEvent', type='keyDown', **params)
        params.pop('text', None)
        self._command('Input.dispatchKeyEvent', type='keyUp', **params)

    def type(self, text):
        """Types into what has the focus."""
        for character in text:
            self._command('Input.insertText', text=character)

    def move(self, x, y, buttons=0):
        self._command('Input.dispatchMouseEvent', type='mouseMoved', x=x, y=y,
                      buttons=buttons, button='left' if buttons else 'none')

    def click(self, x, y, count=1):
        self.move(x, y)
        for number in range(1, count + 1):
            for kind in ('mousePressed', 'mouseReleased'):
                self._command('Input.dispatchMouseEvent', type=kind, x=x, y=y,
                              button='left', clickCount=number)

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

    def drag(self, x, y, to_x, to_y, steps=4):
        self.move(x, y)
        self._command('Input.dispatchMouseEvent', type='mousePressed', x=x,
                      y=y, button='left', clickCount=1)
        for step in range(1, steps + 1):
            self.move(x + (to_x - x) * step / steps,
                      y + (to_y - y) * step / steps, 1)
        self._command('Input.dispatchMouseEvent', type='mouseReleased',
                      x=to_x, y=to_y, button='left', clickCount=1)

    def wheel(self, x, y, delta, delta_x=0, *modifiers):
        self._command('Input.dispatchMouseEvent', type='mouseWheel', x=x, y=y,
                      deltaX=delta_x, deltaY=delta,
                      modifiers=sum(MODIFIERS[each] for each in modifiers))

    def choose_files(self, selector, paths):
        """Gives an <input type=file> files, as if the user had."""
        root = self._command('DOM.getDocument')['root']['nodeId']
        node = self._command('DOM.querySelector', nodeId=root,
                             selector=selector)['nodeId']
        if not node:
            raise BrowserError('there is no ' + selector)
        self._command('DOM.setFileInputFiles', nodeId=node,
                      files=[os.path.abspath(path) for path in paths])
