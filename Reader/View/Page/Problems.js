//
// The panel of what could not be read, or was not recorded.
//

class ProblemsPanel {
    constructor(element) {
        this.frame = new PanelFrame(element, {
            title: 'Problems',
            csv: () => this.grid.csv(),
            command: () => PanelKit.command('verify', { range: null,
                about: PanelKit.ALL })
        });
        this.count = this.frame.addCount();
        this.grid = new Grid(this.frame.body, {
            id: 'problems', label: 'Problems', key: 'place', isAscending: true,
            none: 'Everything could be read, and nothing was lost.',
            columns: [
                { id: 'place', title: 'Where', width: 280, isText: true,
                  isName: true, value: row => row.place },
                { id: 'text', title: 'What', width: 400, isWide: true,
                  isText: true, value: row => row.text,
                  tip: row => row.text }
            ],
            keyOf: row => row.place + row.text,
            choose: row => {
                this.frame.say(row.place + ': ' + row.text);
                if (row.loss) {
                    Viewer.show({ thread: row.thread, begin: row.loss.begin,
                                  end: row.loss.end });
                } else if (row.thread !== null) {
                    Viewer.tell({ reveal: { thread: row.thread } });
                }
            }
        });
        this.grids = [this.grid];
    }

    static list(session) {
        const lost = session.threads.filter(each => each.lost).map(each => ({
            place: PanelKit.threadPlace(each.id), text: 'not recorded: ' +
                each.lost, thread: each.id }));
        const losses = session.threads.flatMap(each =>
            (each.losses || []).map(loss => ({
                place: PanelKit.threadPlace(each.id),
                text: Losses.text(loss) + ', between ' +
                    Viewer.format.time(loss.begin) + ' and ' +
                    Viewer.format.time(loss.end),
                thread: each.id, loss })));
        return [...session.problems.map(each => ({
            place: each.path, text: each.text, thread: null })), ...lost,
        ...losses];
    }

    update(change, state) {
        this.frame.update(change, state);
        const isRead = change.pass && change.pass.done >= change.pass.total;
        if (change.shown || change.session || change.problems || isRead) {
            const rows = ProblemsPanel.list(Viewer.session);
            this.count.textContent = Viewer.format.plural(rows.length,
                                                          'problem');
            this.grid.setRows(rows);
        }
    }
}
