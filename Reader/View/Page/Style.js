//
// The theme: light, dark, or as the system has it; and its colours for what is
// drawn on canvases.
//

const Style = {
    FONT: '11px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif',
    theme: 'system',
    isDark: false,

    read() {
        const computed = getComputedStyle(document.documentElement);
        for (const name of ['back', 'panel', 'line', 'text', 'soft', 'accent',
                            'mark', 'grid', 'row', 'chosen', 'waited',
                            'group', 'bad', 'lost', 'unknown', 'note',
                            'noteLine']) {
            this[name] = computed.getPropertyValue('--' + name).trim();
        }
    },

    systemIsDark: () => matchMedia('(prefers-color-scheme: dark)').matches,

    set(theme) {
        this.theme = theme;
        this.isDark = theme === 'system' ? this.systemIsDark()
            : theme === 'dark';
        document.documentElement.dataset.theme = this.isDark ? 'dark'
            : 'light';
        this.read();
        $('theme').textContent = { system: 'Theme', light: 'Light',
                                   dark: 'Dark' }[theme];
        Viewer.tell({ theme: true });
    },

    //
    // The other one; and then as the system again.
    //

    next() {
        if (this.theme === 'system') {
            this.set(this.isDark ? 'light' : 'dark');
        } else {
            this.set(this.isDark === this.systemIsDark() ? 'system'
                : this.isDark ? 'light' : 'dark');
        }
        try {
            localStorage.setItem('viewer-theme', this.theme);
        } catch {

            //
            // A page without storage forgets it.
            //
        }
    },

    start() {
        let theme = 'system';
        try {
            theme = localStorage.getItem('viewer-theme') || theme;
        } catch {

            //
            // As above.
            //
        }
        this.set(['light', 'dark'].includes(theme) ? theme : 'system');
        matchMedia('(prefers-color-scheme: dark)').addEventListener('change',
            () => this.set(this.theme));
        $('theme').addEventListener('click', () => this.next());
    },

    //
    // A canvas in the size that it has on the screen, and how many of its
    // pixels are one unit of the page.  isInMemory: its pixels are written by
    // the script, so that it is better off beside them than in a GPU.
    //

    fit(canvas, width, height, isInMemory = false) {
        const ratio = devicePixelRatio || 1;
        const wide = Math.round(width * ratio);
        const high = Math.round(height * ratio);
        if (canvas.width !== wide || canvas.height !== high) {
            canvas.width = wide;
            canvas.height = high;
            canvas.style.height = height + 'px';
        }
        const context = canvas.getContext('2d', {
            alpha: false, willReadFrequently: isInMemory });
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        return context;
    }
};
