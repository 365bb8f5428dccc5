//
// Drives a Chromium with puppeteer-core for Tests/Library/BrowserSupport.py,
// which writes a JSON object a line, {id, method, args}, and reads
// {id, result} or {id, error}, and {event, params} of the DevTools protocol.
//
//     node Driver.mjs MODULES PROGRAM OPTIONS
//
// MODULES is the folder that puppeteer-core is in; OPTIONS are those of launch,
// as JSON.
//

import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';
import path from 'node:path';

const [modules, program, options] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(modules), 'x.cjs'));
const puppeteer = require('puppeteer-core');

const write = object => process.stdout.write(JSON.stringify(object) + '\n');

const browser = await puppeteer.launch({
    ...JSON.parse(options),
    executablePath: program,
    headless: true,
    pipe: true,
    defaultViewport: null,
});
const [page] = await browser.pages();
const client = await page.createCDPSession();

for (const name of ['Runtime.consoleAPICalled', 'Runtime.exceptionThrown',
                    'Log.entryAdded', 'Network.requestWillBeSent']) {
    client.on(name, params => write({ event: name, params }));
}
for (const domain of ['Runtime', 'Log', 'Network', 'DOM']) {
    await client.send(`${domain}.enable`);
}

async function withKeys(keys, act) {
    for (const key of keys) {
        await page.keyboard.down(key);
    }
    await act();
    for (const key of [...keys].reverse()) {
        await page.keyboard.up(key);
    }
}

async function drop(type, x, y, files) {
    await client.send('Input.dispatchDragEvent', {
        type, x, y, data: { items: [], files, dragOperationsMask: 1 },
    });
}

const methods = {
    open: (url, milliseconds) =>
        page.goto(url, { waitUntil: 'load', timeout: milliseconds })
            .then(() => null),
    evaluate: expression => page.evaluate(expression),
    send: (method, params) => client.send(method, params),
    resize: (width, height) =>
        page.setViewport({ width, height, deviceScaleFactor: 1 }),
    media: features => page.emulateMediaFeatures(features),
    mediaType: type => page.emulateMediaType(type),
    screenshot: () => page.screenshot({ encoding: 'base64' }),
    key: (key, modifiers) =>
        withKeys(modifiers, () => page.keyboard.press(key)),
    type: text => page.keyboard.sendCharacter(text),
    move: (x, y) => page.mouse.move(x, y),
    click: (x, y, count) => page.mouse.click(x, y, { count }),
    drag: async (x, y, toX, toY, steps, modifiers) => {
        await page.mouse.move(x, y);
        await withKeys(modifiers, async () => {
            await page.mouse.down();
            await page.mouse.move(toX, toY, { steps });
            await page.mouse.up();
        });
    },
    wheel: async (x, y, deltaX, deltaY, modifiers) => {
        await page.mouse.move(x, y);
        await withKeys(modifiers,
                       () => page.mouse.wheel({ deltaX, deltaY }));
    },
    chooseFiles: async (selector, paths) => {
        const input = await page.$(selector);
        if (!input) {
            throw new Error(`there is no ${selector}`);
        }
        await input.uploadFile(...paths);
    },
    dropFiles: async (x, y, paths) => {
        await drop('dragEnter', x, y, paths);
        await drop('dragOver', x, y, paths);
        await drop('drop', x, y, paths);
    },
};

write({ event: 'ready' });

//
// One after another, as they come.
//

for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, args } = JSON.parse(line);
    try {
        const result = await methods[method](...args);
        write({ id, result: result === undefined ? null : result });
    } catch (error) {
        write({ id, error: error.message });
    }
}

await browser.close();
