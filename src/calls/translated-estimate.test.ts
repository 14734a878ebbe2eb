import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { plainDemand } from '../protocols/operations/operation.ts';
import { PLAIN_CHAT, PLAIN_MESSAGES } from '../protocols/translation/dialect.ts';
import type { TranslationTarget } from '../protocols/translation/translated-request.ts';
import type { Route } from '../providers/catalog/catalog.ts';
import type { ReservationEstimate } from './reservation-estimate.ts';
import { estimatesOfRoutes, greatestEstimate } from './translated-estimate.ts';

const about = { maker: 'm', outputTokensMax: 100 };
const toChat = (reasoning: 'none' | 'enable_thinking'): TranslationTarget => ({
  ...about,
  form: 'chat',
  dialect: { ...PLAIN_CHAT, reasoning },
});
const toMessages = (promptCache: 'off' | 'auto'): TranslationTarget => ({
  ...about,
  form: 'messages',
  dialect: { ...PLAIN_MESSAGES, promptCache },
});
const routeTo = (target: TranslationTarget) => ({ translation: { target } }) as Route;

const input = { inputTokensEstimate: 1_000, choices: 1, demand: { ...plainDemand, outputTokensLimit: 50 } };

describe('the estimates of the routes of a call', () => {
  it('are those of the client and of the translation, if no other route needs one', () => {
    const route = routeTo(toMessages('auto'));
    const translated = { route, input: { ...input, inputTokensEstimate: 900 } };
    assert.deepEqual(estimatesOfRoutes(input, translated, [{} as Route, route]), [input, translated.input]);
  });

  it('allow for growth, an added cache write and added thinking on routes that were not translated', () => {
    const targets = [toMessages('off'), toMessages('auto'), toChat('none'), toChat('enable_thinking')];
    const [asked, ...others] = estimatesOfRoutes(input, null, targets.map(routeTo));
    assert.equal(asked, input);
    assert.deepEqual(
      others.map(({ inputTokensEstimate, demand: { writesCache, thinkingTokens, moreOutputTokens } }) => {
        return [inputTokensEstimate, writesCache, thinkingTokens, moreOutputTokens];
      }),
      [
        [2_274, false, 0, 0],
        [2_274, true, 0, 0],
        [2_274, false, 0, 0],
        [2_274, false, 50, 38_912],
      ],
    );
  });
});

describe('the greatest estimate', () => {
  it('covers every figure of each one', () => {
    const one: ReservationEstimate = { inputTokens: 5, tokens: 9, amountNano: 10n, assumesOutput: false };
    const other: ReservationEstimate = { inputTokens: 7, tokens: 8, amountNano: 11n, assumesOutput: true };
    const both = { inputTokens: 7, tokens: 9, amountNano: 11n, assumesOutput: true };
    assert.deepEqual(greatestEstimate([one, other]), both);
    assert.deepEqual(greatestEstimate([other, one]), both);
  });
});
