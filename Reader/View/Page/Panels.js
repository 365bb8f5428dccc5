//
// The panels below the timeline: one is open, its tab is chosen.
//

const Panels = {
    shown: null,

    start() {
        const tabs = $('tabs');
        for (const panel of Viewer.panels) {
            const tab = document.createElement('button');
            tab.type = 'button';
            tab.id = 'tab-' + panel.id;
            tab.setAttribute('role', 'tab');
            tab.setAttribute('aria-controls', 'panel-' + panel.id);
            tab.textContent = panel.title;
            if (panel.key) {
                tab.title = panel.title + ' (' + panel.key + ')';
                tab.setAttribute('aria-keyshortcuts', panel.key);
            }
            tab.addEventListener('click', () =>
                Viewer.set({ panel: panel.id }));
            const body = document.createElement('div');
            body.id = 'panel-' + panel.id;
            body.setAttribute('role', 'tabpanel');
            body.setAttribute('aria-labelledby', tab.id);
            body.hidden = true;
            tabs.append(tab);
            $('panelBodies').append(body);
            panel.tab = tab;
            panel.element = body;
            panel.create(body);
        }
        tabs.addEventListener('keydown', event => {
            const all = Viewer.panels;
            const now = all.findIndex(each => each.tab === event.target);
            const to = { ArrowRight: (now + 1) % all.length,
                         ArrowLeft: (now + all.length - 1) % all.length,
                         Home: 0, End: all.length - 1 }[event.key];
            if (now >= 0 && to !== undefined) {
                Viewer.set({ panel: all[to].id });
                all[to].tab.focus();
                event.preventDefault();
                event.stopPropagation();
            }
        });
        Viewer.on((change, state) => this.update(change, state));
        $('panels').hidden = !Viewer.panels.length;
        $('divider').hidden = !Viewer.panels.length;
        if (!Viewer.panels.length) {
            $('timeline').style.flex = '1';
        }
    },

    update(change, state) {
        const open = Viewer.panels.find(each => each.id === state.panel) ||
            Viewer.panels[0];
        if (!open || Viewer.session === null) {
            return;
        }
        let seen = change;
        if (this.shown !== open) {
            for (const panel of Viewer.panels) {
                const isOpen = panel === open;
                panel.element.hidden = !isOpen;
                panel.tab.setAttribute('aria-selected', String(isOpen));
                panel.tab.tabIndex = isOpen ? 0 : -1;
            }
            this.shown = open;
            open.tab.scrollIntoView({ block: 'nearest', inline: 'nearest' });
            seen = { ...change, shown: true };
        }
        if (Object.keys(seen).some(each => each !== 'redraw')) {
            open.update(seen, state);
        }
    },

    //
    // A panel's key opens it and goes into it.
    //

    press(key) {
        const panel = Viewer.panels.find(each => each.key === key);
        if (!panel) {
            return false;
        }
        Viewer.set({ panel: panel.id });
        requestAnimationFrame(() => requestAnimationFrame(() => {
            const inside = panel.element.querySelector('[tabindex="0"]');
            (inside || panel.tab).focus();
        }));
        return true;
    }
};
