//
// The panels, in the order of their tabs.  Each is made when the page starts,
// when all scripts are there.  What somebody has made of a panel's tables, and
// the text of its filter, are in a link.
//

{
    const add = (id, title, key, make) => {
        let panel = null;
        Viewer.addPanel({
            id, title, key,
            create(element) {
                panel = make(element);
            },
            update(change, state) {
                panel.update(change, state);
            },
            save() {
                return PanelKit.save(panel);
            },
            restore(text) {
                PanelKit.restore(panel, text);
            }
        });
    };

    add('functions', 'Functions', '1', element => new FunctionsPanel(element));
    add('flame', 'Flame graph', '2', element => new FlamePanel(element));
    add('sandwich', 'Callers and callees', '3', element =>
        new SandwichPanel(element));
    add('histogram', 'Durations', '4', element => new HistogramPanel(element));
    add('find', 'Find', '5', element => new FindPanel(element));
    add('call', 'Call', '6', element => new CallPanel(element));
    add('marks', 'Marks', '7', element => new MarksPanel(element));
    add('threads', 'Threads', '8', element => new ThreadsPanel(element));
    add('problems', 'Problems', '9', element => new ProblemsPanel(element));
}
