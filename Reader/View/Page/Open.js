//
// Opens sessions, reads them, and follows those of running programs.
//

const Open = {
    INTERVAL: 1000,
    TOO_LARGE: 'A program may be writing this session, and it is too large ' +
        'for the browser to copy: open it again some seconds after the ' +
        'program has ended.',
    isPaused: false,
    isBusy: false,
    timer: 0,
    opening: 0,
    about: {},
    live: new Live([]),

    makeEngine() {
        if (typeof MockEngine !== 'undefined') {
            const [threads, marks, calls] = (new URLSearchParams(
                location.search).get('mock') || '100,10000,20000')
                .split(',').map(Number);
            return new MockEngine({ threads, marks, calls });
        }
        if (typeof Engine === 'undefined' || (!this.wasm && !$('wasm'))) {
            throw new Error('This page was made without its engine.');
        }
        if (!this.wasm) {
            this.wasm = Files.bytesOf('wasm');
            this.workerSource = new TextDecoder().decode(
                Files.bytesOf('workerSource'));
        }
        return new Engine({
            wasm: this.wasm.buffer.slice(0), workerSource: this.workerSource,
            keeper: Viewer.keeper,
            workers: Math.max(1, Math.min(navigator.hardwareConcurrency || 2,
                                          4))
        });
    },

    //
    // Opens what find() gives.  What fails is said where one can see it, with
    // the name of the file.
    //

    async open(find, options = {}) {
        const turn = ++this.opening;
        this.progress('Looking for files', 0, 0);
        this.error('');
        let engine = null;
        let isTooLarge = false;
        try {
            const roots = [];
            const files = await find(roots);
            if (files === null) {
                this.progress(null);
                return;
            }
            if (!files.length && typeof MockEngine === 'undefined') {
                throw new Error('There are no files in what was opened.');
            }
            engine = this.makeEngine();
            const live = new Live(roots);
            const taken = await live.take(files);
            isTooLarge = live.isTooLarge;
            const onProgress = ({ done, total, path }) =>
                this.progress('Opening' + (path ? ' ' + path : ''), done,
                              total);
            const session = await this.openOne(engine, taken, onProgress,
                                               options);
            if (turn !== this.opening) {
                engine.close();
                return;
            }
            this.live = live;
            this.given = { files, roots };
            if (isTooLarge) {
                session.problems.push({ path: this.nameOf(files),
                                        text: Open.TOO_LARGE });
            }
            this.show(engine, session, this.nameOf(files));
            this.offer(engine, session, options);
        } catch (error) {
            if (engine !== null) {
                engine.close();
            }
            if (turn === this.opening) {
                this.progress(null);
                if (error.name !== 'AbortError') {
                    this.error(Open.plain(error.message) + (isTooLarge
                        ? '\n' + Open.TOO_LARGE : ''));
                }
            }
            return;
        }
        await this.pass(engine);
    },

    //
    // Several sessions that were given are shown together, on one clock.  Those
    // that have none in common, as their computers were started between them,
    // are shown one at a time.
    //

    async openOne(engine, files, onProgress, options) {
        try {
            return await engine.open(files, onProgress, options);
        } catch (error) {
            const tops = Engine.tops(
                files.filter(each => /\.trace$/i.test(each.path)),
                files.filter(each => /\.(pack|tracepack)$/i.test(each.path)));
            if (options.top !== undefined || !tops.length ||
                !error.message.includes('different boots')) {
                throw error;
            }
            options.isParted = true;
            options.top = tops[0];
            return engine.open(files, onProgress, options);
        }
    },

    //
    // The list of what else can be looked at.
    //

    offer(engine, session, options) {
        const box = $('choose');
        const { tops } = engine.plan || {};
        const choices = [];
        if (tops && tops.length) {
            if (!options.isParted) {
                choices.push(['All that was given', {}]);
            }
            for (const top of tops) {
                choices.push([top, { top, isParted: options.isParted }]);
            }
        } else if (session.numberOfRuns > 1 || options.isAllRuns) {
            choices.push(['The newest run', {}],
                         ['All runs', { isAllRuns: true }]);
        }
        box.replaceChildren();
        box.hidden = !choices.length;
        choices.forEach(([text, choice], at) => {
            const option = document.createElement('option');
            option.textContent = text;
            option.value = String(at);
            option.selected = choice.top === options.top &&
                Boolean(choice.isAllRuns) === Boolean(options.isAllRuns);
            box.append(option);
        });
        box.onchange = () => {
            const { files, roots } = this.given;
            this.open(async found => {
                found.push(...roots);
                return files;
            }, { ...choices[Number(box.value)][1] });
        };
        if (options.isParted) {
            session.problems.push({ path: options.top, text: 'is shown ' +
                'alone: what was given has no common clock (choose above)' });
            this.describe();
        }
    },

    show(engine, session, name) {
        if (Viewer.engine !== null) {
            Viewer.engine.close();
        }
        Viewer.engine = engine;
        engine.onProblem = () => {
            this.describe();
            Viewer.tell({ problems: true });
        };
        Viewer.session = session;
        Viewer.sessionName = name || 'SESSION';
        Viewer.isPassed = false;
        $('welcome').hidden = true;
        $('main').hidden = false;
        $('sessionTools').hidden = false;
        Viewer.set({ selection: null, function: null, call: null, pinned: [],
                     collapsed: [], filter: '', scope: null });
        Viewer.tell({ opened: true, session: true });
        this.describe();
        Link.opened(location.hash);
        this.follow();
    },

    async pass(engine) {
        const begun = performance.now();
        try {
            await engine.pass(progress => {

                //
                // What a running program adds later is read without a word.
                //

                if (Viewer.engine !== engine || Viewer.isPassed) {
                    return;
                }
                this.progress('Reading', progress.done, progress.total,
                              performance.now() - begun);
                Viewer.tell({ pass: progress });
            });
        } catch (error) {
            if (Viewer.engine === engine && error.name !== 'AbortError') {
                this.notice(error.message);
            }
        }
        if (Viewer.engine === engine) {
            Viewer.isPassed = true;
            Viewer.passTime = performance.now() - begun;
            this.progress(null);
            Viewer.tell({ pass: { done: 1, total: 1, thread: null } });
            this.describe();
        }
    },

    progress(text, done, total, elapsed) {
        const box = $('progress');
        box.hidden = text === null;
        if (text === null) {
            return;
        }
        const share = total ? Math.min(done / total, 1) : 0;
        const percent = Math.floor(share * 100);
        $('progressBar').style.transform = 'scaleX(' + share + ')';
        box.setAttribute('aria-valuenow', String(percent));
        let more = total ? ': ' + percent + ' %' : '';
        if (total > 1 << 20) {
            more += ' of ' + Format.count(Math.ceil(total / (1 << 20))) +
                ' MiB';
            if (elapsed > 1000 && share > 0.02) {
                more += ', ' + Math.ceil(elapsed * (1 - share) / share / 1000) +
                    ' s left';
            }
        }
        $('progressText').textContent = text + more;
    },

    //
    // The reader's messages, without what it calls itself and the drive that
    // files are on for it.
    //

    plain: text => text.replace(/^TraceReader: (warning: )?/gm, '')
        .replace(/\b[A-Z]:\\S\\/g, ''),

    //
    // On the first page, or above the timeline.
    //

    error(text) {
        const box = $('welcomeError');
        box.textContent = text;
        box.hidden = !text;
        if (text && !$('main').hidden) {
            this.notice(text);
        }
    },

    notice(text, more) {
        $('notice').hidden = !text;
        $('noticeText').textContent = text;
        $('noticeMore').hidden = !more;
    },

    describe() {
        const { engine, session } = Viewer;
        const programs = session.processes.map(
            each => Format.baseName(each.program));
        const title = [...new Set(programs)].slice(0, 3).join(', ') ||
            Viewer.sessionName;
        document.title = title + ' \u2013 trace';
        $('title').textContent = title;
        $('title').title = session.processes.map(each =>
            each.program).join('\n');
        const records = session.threads.reduce(
            (sum, each) => sum + (each.records || 0), 0);
        $('subtitle').textContent = [
            session.processes.length > 1
                ? Format.plural(session.processes.length, 'process',
                                'processes') : '',
            Format.plural(Viewer.countThreads(
                session.threads.map(each => each.id)), 'thread'),
            records ? Format.plural(records, 'record') : '',
            engine.functions.length
                ? Format.plural(engine.functions.length, 'function') : '',
            Format.time(session.end - session.begin)
        ].filter(each => each).join(' \u00b7 ');
        $('subtitle').title = Viewer.sessionName;
        this.describeProblems(session);
    },

    //
    // The first problem, or how much was lost; names that are missing come
    // after what is.
    //

    describeProblems(session) {
        const { problems } = session;
        const all = ProblemsPanel.list(session).length;
        const worse = problems.filter(each => !each.isOfNames);
        const lost = worse.length ? 0 : Losses.count(session);
        const [first] = worse.length ? worse : problems;
        if (lost) {
            this.notice(Format.plural(lost, 'record') + ' could not be read: ' +
                'the timeline is hatched there.', true);
        } else if (first) {
            this.notice((all > 1 ? Format.plural(all, 'problem') + '. ' : '') +
                first.path + ': ' + first.text, all > 1 ||
                Viewer.panels.some(each => each.id === 'problems'));
        } else {
            this.notice('');
        }
    },

    //
    // All that is known of the session.
    //

    openAbout() {
        const { session } = Viewer;
        if (session === null) {
            return;
        }
        const facts = [['Opened', Viewer.sessionName],
            ['First record', session.startUtc === null ? 'not known'
                : new Date(session.startUtc).toISOString()
                    .replace('T', ' ').replace('Z', ' UTC')],
            ['Length', Format.time(session.end - session.begin) + ' (' +
                Format.exact(session.end - session.begin) + ')'],
            ['Clock', Format.count(Math.round(session.ticksPerSecond)) +
                ' ticks a second'],
            ['State', session.isLive ? 'running' : 'ended']];
        if (Viewer.passTime) {
            facts.push(['Read in', (Viewer.passTime / 1000).toFixed(1) +
                ' s']);
        }
        for (const each of session.processes) {
            facts.push(['Process ' + each.pid, each.program + ' (' +
                Format.plural(Viewer.countThreads(each.threads), 'thread') +
                ')']);
        }
        for (const each of session.modules.slice(0, 200)) {
            facts.push(['Module', each.path || each.name]);
        }
        this.showKept();
        for (const each of session.problems) {
            facts.push(['Problem', each.path + ': ' + each.text]);
        }
        const box = $('facts');
        box.replaceChildren();
        for (const [name, text] of facts) {
            const term = document.createElement('dt');
            term.textContent = name;
            const value = document.createElement('dd');
            value.textContent = text;
            box.append(term, value);
        }
        $('session').showModal();
    },

    //
    // What the page has kept of sessions, and how it goes.
    //

    async showKept() {
        const { number, size } = await Viewer.keeper.usage();
        $('kept').hidden = number === 0;
        $('keptText').textContent = 'Kept in this browser, for sessions that ' +
            'are opened again: ' + Format.plural(number, 'thread') + ', ' +
            Format.count(Math.ceil(size / (1 << 20))) + ' MiB.';
    },

    //
    // A running program's session is read again and again; what is at the end
    // of the screen stays there.
    //

    follow() {
        clearTimeout(this.timer);
        const { session } = Viewer;
        const isLive = session !== null && session.isLive;
        $('follow').hidden = !isLive;
        $('follow').setAttribute('aria-pressed', String(!this.isPaused));
        $('follow').textContent = this.isPaused ? 'Paused' : 'Live';
        if (isLive && !this.isPaused) {
            this.timer = setTimeout(() => this.refresh(), this.INTERVAL);
        }
    },

    async refresh() {
        const { engine } = Viewer;
        const old = Viewer.session.end;
        if (!document.hidden && Viewer.isPassed) {
            try {
                const hasChanged = await engine.refresh(
                    await this.live.again() || undefined);
                if (Viewer.engine !== engine) {
                    return;
                }
                if (this.live.isTooLarge) {
                    this.notice(Open.TOO_LARGE);
                }
                if (hasChanged) {
                    Viewer.session = engine.session;
                    this.describe();
                    Viewer.tell({ session: true });
                    const by = Viewer.session.end - old;
                    const now = Viewer.state;
                    if (now.begin <= Viewer.session.begin &&
                        now.end >= old) {
                        Viewer.fit();
                    } else if (now.end >= old - (now.end - now.begin) / 100) {
                        Viewer.setRange(now.begin + by, now.end + by);
                    }
                } else if (engine.wasRough) {
                    Viewer.tell({ pass: { done: 1, total: 1, thread: null } });
                }
            } catch (error) {
                if (Viewer.engine === engine && error.name !== 'AbortError') {
                    this.notice(error.message);
                }
            }
        }
        if (Viewer.engine === engine) {
            this.follow();
        }
    },

    togglePause() {
        if (Viewer.session !== null && Viewer.session.isLive) {
            this.isPaused = !this.isPaused;
            Viewer.say(this.isPaused ? 'Paused: the session is not read any '
                + 'further.' : 'Follows the running program.');
            this.follow();
        }
    },

    //
    // The pickers.
    //

    async pickFolder() {
        if (window.showDirectoryPicker) {
            let handle = null;
            try {
                handle = await showDirectoryPicker({ id: 'session' });
            } catch (error) {
                if (error.name !== 'AbortError') {
                    $('folderInput').click();
                }
                return;
            }
            await this.open(async roots => {
                const list = [];
                roots.push(handle);
                await Files.ofHandle(handle, '', list);
                return list;
            });
        } else {
            $('folderInput').click();
        }
    },

    //
    // What TraceReader wrote into the page: which session it is of, and what
    // is to be dropped if that isn't in it.
    //

    readAbout() {
        const element = $('about');
        if (element === null) {
            return;
        }
        this.about = JSON.parse(element.textContent);
        const { path, note, embedded } = this.about;
        if (!embedded && path) {
            const box = $('welcomeText');
            box.textContent = 'This page was written for the session in';
            const name = document.createElement('code');
            name.textContent = path;
            const copy = document.createElement('button');
            copy.type = 'button';
            copy.textContent = 'Copy';
            copy.addEventListener('click', () =>
                Viewer.copy(path, 'the folder'));
            const line = document.createElement('p');
            line.append(name, ' ', copy);
            const what = document.createElement('p');
            what.textContent = 'Drop that folder here, or open it. It is ' +
                'read where it is: nothing leaves this computer.';
            box.after(line, what);
        }
        if (note) {
            $('welcomeHint').textContent = note;
        }
    },

    //
    // The name that TraceReader finds the session by.
    //

    nameOf(files) {
        const name = Files.nameOf(files);
        const { path, embedded } = this.about;
        return path && (embedded || Format.baseName(path) === name) ? path
            : name;
    },

    start() {
        $('openFolder').addEventListener('click', () => this.pickFolder());
        $('openOther').addEventListener('click', () => this.pickFolder());
        $('openFiles').addEventListener('click',
            () => $('filesInput').click());
        for (const id of ['folderInput', 'filesInput']) {
            const input = $(id);
            input.addEventListener('change', async () => {
                await this.open(async () => Files.ofInput(input));
                input.value = '';
            });
        }
        const isFiles = event => event.dataTransfer &&
            [...event.dataTransfer.types].includes('Files');
        let inside = 0;
        window.addEventListener('dragenter', event => {
            if (isFiles(event)) {
                inside++;
                document.body.classList.add('dropping');
            }
        });
        window.addEventListener('dragleave', event => {
            if (isFiles(event) && --inside <= 0) {
                inside = 0;
                document.body.classList.remove('dropping');
            }
        });
        window.addEventListener('dragover', event => {
            if (isFiles(event)) {
                event.preventDefault();
                event.dataTransfer.dropEffect = 'copy';
            }
        });
        window.addEventListener('drop', event => {
            event.preventDefault();
            inside = 0;
            document.body.classList.remove('dropping');
            const dropped = [];
            const found = Files.ofDrop(event.dataTransfer, dropped);
            this.open(async roots => {
                const list = await found;
                roots.push(...dropped);
                return list;
            });
        });
        $('follow').addEventListener('click', () => this.togglePause());
        $('noticeClose').addEventListener('click', () => this.notice(''));
        $('noticeMore').addEventListener('click', () => {
            if (Viewer.panels.some(each => each.id === 'problems')) {
                Viewer.set({ panel: 'problems' });
            } else {
                this.openAbout();
            }
        });
        $('forget').addEventListener('click', async () => {
            await Viewer.keeper.clear();
            this.showKept();
        });
        $('title').addEventListener('click', () => this.openAbout());
        if (!window.showDirectoryPicker) {
            $('welcomeHint').textContent = 'This browser cannot follow a ' +
                'running program: Chromium, Chrome or Edge can.';
        }
        this.readAbout();
        const embedded = Files.ofPage();
        if (embedded !== null) {
            this.open(async () => embedded);
        } else if (typeof MockEngine !== 'undefined') {
            this.open(async () => []);
        }
    }
};
