import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GatewayError } from '../../errors/gateway-error.ts';
import { isRecord } from '../../lib/json/json.ts';
import { type ImageMembers, refuseAliases, refuseAliasPart } from './aliases.ts';

function membersOf(body: Record<string, unknown>): ImageMembers {
  return {
    has: (name) => (body[name] ?? false) !== false,
    inside(name) {
      const value = body[name];
      return isRecord(value) ? membersOf(value) : null;
    },
  };
}

function assertRefused(work: () => unknown, param: string, own: string): void {
  assert.throws(work, { kind: 'invalidRequest', param, message: new RegExp(`Use "${own}"`) });
}

describe('alternative names of image parameters that determine the price', () => {
  const cases = [
    ['image_size', 'size'],
    ['resolution', 'size'],
    ['width', 'size'],
    ['image_quality', 'quality'],
    ['num_images', 'n'],
    ['batch_size', 'n'],
    ['num_outputs', 'n'],
    ['max_images', 'n'],
    ['image_num', 'n'],
    ['enable_sequential', 'n'],
  ] as const;
  for (const [alias, own] of cases) {
    it(`${alias} is refused in favor of ${own}`, () => {
      assertRefused(() => refuseAliases(membersOf({ prompt: 'p', [alias]: 1 })), alias, own);
      assertRefused(() => refuseAliases(membersOf({ parameters: { [alias]: 1 } })), `parameters.${alias}`, own);
      assertRefused(() => refuseAliasPart(alias), alias, own);
      assert.throws(() => refuseAliasPart(alias.toUpperCase()), GatewayError);
      assert.throws(() => refuseAliasPart(`${alias}[]`), GatewayError);
    });
  }

  it('are refused in objects that some servers treat as top-level parameters', () => {
    for (const own of ['size', 'quality', 'n']) {
      assertRefused(() => refuseAliases(membersOf({ extra_body: { [own]: 1 } })), `extra_body.${own}`, own);
    }
    const sequence = 'sequential_image_generation';
    assertRefused(
      () => refuseAliases(membersOf({ extra_body: { [sequence]: 'auto' } })),
      `extra_body.${sequence}`,
      sequence,
    );
    refuseAliases(membersOf({ [sequence]: 'auto', [`${sequence}_options`]: { max_images: 4 } }));
    for (const part of [sequence, `${sequence}_options[max_images]`, 'sequentialImageGeneration']) {
      assert.throws(() => refuseAliasPart(part), GatewayError);
    }
    assert.throws(() => refuseAliasPart('extra_body[n]'), GatewayError);
    assert.throws(() => refuseAliasPart('parameters'), GatewayError);
  });

  it('are accepted if they are null or false; so are parameters that do not affect the price', () => {
    const body = {
      prompt: 'p',
      n: 2,
      size: 'auto',
      image_size: null,
      aspect_ratio: '16:9',
      seed: 7,
      extra_body: {},
      enable_sequential: false,
    };
    refuseAliases(membersOf({ ...body, parameters: 'text', image_config: { aspect_ratio: '1:1' } }));
    for (const name of ['aspect_ratio', 'seed', 'n[]', 'frame_count', 'negative_prompt', 'sizes'])
      refuseAliasPart(name);
  });
});
