import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openConsole } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { makeFirstCall, NO_CATALOG } from '../../support/first-call.ts';
import { startGateway } from '../../support/gateway.ts';
import { createPerson } from '../../support/people.ts';
import { SECONDS_MAX, WIDTHS_PX } from '../../support/practised-person.ts';

/** On a desktop and in English, an operator's day begins with the same steps (`operator-day.test.ts`). */
describe('an operator of an empty installation', { skip: withoutBrowser, timeout: 300_000 }, () => {
  it('gets to a charged call in the console in less than three minutes (zh, phone)', async (t) => {
    await using server = await startGateway(NO_CATALOG);
    const ada = await createPerson(server, { name: 'Ada', operatorRole: 'operator' });
    await using console = await openConsole(server, {
      person: ada,
      at: '#/operator',
      language: 'zh',
      widthPx: WIDTHS_PX.phone,
    });
    const { person } = await makeFirstCall(server, console, 'zh', 'phone');
    t.diagnostic(person.summary);
    assert.ok(person.seconds < SECONDS_MAX, person.summary);
  });
});
