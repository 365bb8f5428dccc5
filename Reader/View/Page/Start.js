//
// Starts the page: the last of its scripts.
//

Style.start();

{
    const timeline = new Timeline();
    const input = new TimelineInput(timeline);
    Viewer.timeline = timeline;
    Viewer.minimap = new Minimap(timeline);
    Keys.start(timeline, input);
    Panels.start();
    Link.start();

    //
    // The height of the timeline.
    //

    const divider = $('divider');
    const setHeight = height => {
        const whole = $('main').clientHeight;
        const share = Math.min(Math.max(height / whole, 0.1), 0.9);
        $('timeline').style.flexBasis = share * 100 + '%';
        divider.setAttribute('aria-valuenow',
                             String(Math.round(share * 100)));
    };
    divider.addEventListener('pointerdown', event =>
        divider.setPointerCapture(event.pointerId));
    divider.addEventListener('pointermove', event => {
        if (divider.hasPointerCapture(event.pointerId)) {
            setHeight(event.clientY -
                $('timeline').getBoundingClientRect().top);
        }
    });
    divider.addEventListener('keydown', event => {
        const by = { ArrowUp: -20, ArrowDown: 20 }[event.key];
        if (by) {
            setHeight($('timeline').clientHeight + by);
            event.preventDefault();
        }
    });

    //
    // Printed is what is on the screen, on paper that is light.
    //

    window.addEventListener('beforeprint', () => {
        document.documentElement.dataset.theme = 'light';
        Style.read();
        Viewer.timeline.raster.readTheme(Style);
        if (Viewer.session !== null) {
            timeline.update({ theme: true }, Viewer.state);
            Viewer.minimap.update({ theme: true }, Viewer.state);
        }
    });
    window.addEventListener('afterprint', () => Style.set(Style.theme));

    Open.start();
}
