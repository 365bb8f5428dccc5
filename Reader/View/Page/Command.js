//
// The TraceReader command that shows the same as the screen.
//

const Command = {
    quote: text => /^[\w.:\\/-]+$/.test(text) ? text : '"' + text + '"',

    //
    // Of what is selected, or on the screen; of one thread, if one is current.
    //

    range() {
        const { begin, end } = Viewer.range();
        const { session } = Viewer;
        const parts = [];
        if (begin > session.begin) {
            parts.push('--from', Format.option(Math.floor(begin)));
        }
        if (end < session.end) {
            parts.push('--to', Format.option(Math.ceil(end)));
        }
        return parts;
    },

    replay(timeline) {
        const parts = ['TraceReader', 'replay', ...this.range()];
        const { call, pinned } = Viewer.state;
        const lane = timeline.lanes.list.find(
            each => each.key === timeline.current);
        const id = call ? call.thread
            : lane && lane.kind === 'thread' ? lane.thread.id
                : pinned.length === 1 ? pinned[0] : null;
        const process = id !== null ? Viewer.threadOf(id).process
            : lane && lane.kind === 'process' ? lane.process.id : null;
        if (process !== null && Viewer.session.processes.length > 1) {
            parts.push('--process',
                       String(Viewer.processOf(process).pid));
        }
        if (id !== null) {
            parts.push('--thread', String(Viewer.threadOf(id).tid));
        }
        parts.push(this.quote(Viewer.sessionName));
        return parts.join(' ');
    },

    copy(timeline) {
        if (Viewer.session !== null) {
            Viewer.copy(this.replay(timeline), 'the command');
        }
    }
};
