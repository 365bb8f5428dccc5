//
// The TraceReader command that shows the same as the screen.
//

const Command = {

    //
    // Of what is selected, or on the screen; of one thread, if one is current.
    //

    replay(timeline) {
        const { call, pinned } = Viewer.state;
        const lane = timeline.lanes.list.find(
            each => each.key === timeline.current);
        const id = call ? call.thread
            : lane && lane.kind === 'thread' ? lane.thread.id
                : pinned.length === 1 ? pinned[0] : null;
        const thread = id === null ? null : Viewer.threadOf(id);
        return PanelKit.command('replay', { about: {
            thread,
            process: thread ? Viewer.processOf(thread.process)
                : lane && lane.kind === 'process' ? lane.process : null
        } });
    },

    copy(timeline) {
        if (Viewer.session !== null) {
            Viewer.copy(this.replay(timeline), 'the command');
        }
    }
};
