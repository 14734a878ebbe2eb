import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { CARRIER_FORMAT, makerOf, readCarrier, writeCarrier } from './carriers.ts';
import { withoutCarriers } from './without-carriers.ts';

const CARRIER = writeCarrier({ maker: makerOf('acme'), text: 'hidden' });

const stripped = (body: object) => JSON.parse(withoutCarriers(Buffer.from(JSON.stringify(body))).toString('utf8'));

describe('carriers of reasoning', () => {
  it('come back as they were written', () => {
    const part = fc.option(fc.string({ unit: 'binary' }), { nil: undefined });
    fc.assert(
      fc.property(part, part, part, part, (text, signature, data, details) => {
        const carrier = JSON.parse(JSON.stringify({ maker: makerOf('acme'), text, signature, data, details }));
        assert.deepEqual(readCarrier(writeCarrier(carrier)), carrier);
      }),
    );
  });

  it('are told from signatures of vendors', () => {
    fc.assert(fc.property(fc.string(), (text) => assert.equal(readCarrier(text), null)));
  });

  it('are removed for other providers, wherever they stand among other blocks', () => {
    const thinking = { type: 'thinking', thinking: 't', signature: CARRIER };
    const block = fc.constantFrom({ type: 'text', text: 'a' }, thinking, {
      type: 'thinking',
      thinking: 't',
      signature: 'own',
    });
    const reasoning = { type: 'reasoning', summary: [], encrypted_content: CARRIER };
    const item = fc.constantFrom({ role: 'user', content: 'a' }, reasoning, {
      type: 'reasoning',
      encrypted_content: 'own',
    });
    fc.assert(
      fc.property(fc.array(block), fc.array(item), (blocks, items) => {
        const details = [
          { type: 'reasoning.encrypted', format: CARRIER_FORMAT, data: CARRIER },
          { type: 'reasoning.text' },
        ];
        const body = {
          messages: [{ role: 'assistant', content: blocks, reasoning_details: details }],
          input: items,
          other: CARRIER,
        };
        assert.deepEqual(stripped(body), {
          messages: [
            {
              role: 'assistant',
              content: blocks.filter((each) => each !== thinking),
              reasoning_details: [{ type: 'reasoning.text' }],
            },
          ],
          input: items.filter((each) => each !== reasoning),
          other: CARRIER,
        });
      }),
    );
  });

  it('leave bodies without them as they are', () => {
    const body = Buffer.from('{ "messages" : [ {"role":"user"} ] }');
    assert.equal(withoutCarriers(body), body);
  });
});
