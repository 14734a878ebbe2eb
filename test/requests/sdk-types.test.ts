import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type SdkObject, type SdkShape, SdkTypes } from '../../scripts/sdk-types.ts';
import { CHAT_TABLE } from '../../src/protocols/chat/state-references.ts';
import { MESSAGES_TABLE } from '../../src/protocols/messages/state-references.ts';
import type { RequestTable } from '../../src/protocols/request-reader.ts';
import type { Members, Rule } from '../../src/protocols/request-rules.ts';
import { CONTENT_OF_TYPE, RESPONSES_TABLE } from '../../src/protocols/responses/state-references.ts';
import { kindByName } from '../../src/protocols/shown-references.ts';
import { TOOLS, toolFamily } from '../../src/protocols/tools.ts';

/**
 * Compares the request tables with the types of the vendors' SDKs. Members added by a new SDK version are listed here until they are
 * classified in a table: as content, a setting, a reference or a model.
 */

const types = new SdkTypes();
const shapeOf = (file: string, name: string): SdkShape =>
  types.shapeOf(fileURLToPath(new URL(`../../node_modules/${file}`, import.meta.url)), name);

const RESPONSES = 'openai/resources/responses/responses.d.ts';
const CHAT = 'openai/resources/chat/completions/completions.d.ts';
const MESSAGES = '@anthropic-ai/sdk/resources/messages/messages.d.mts';
const BETA = '@anthropic-ai/sdk/resources/beta/messages/messages.d.mts';

/** Names that suggest state at the provider, without a row in any table. */
function tellsOfState(name: string): boolean {
  const key = Buffer.from(name);
  return kindByName(key, 0, key.length) === 'state' || OTHER_WORDS.test(name);
}
const OTHER_WORDS = /_url|uri|host|container|thread|conversation|vault|tunnel|session|store_|previous/;

/** Members of a value that the table does not describe, as paths. */
function missing(shape: SdkShape, rule: Rule, table: RequestTable, path: string): string[] {
  if (rule === 'content' || rule === 'model' || rule === 'tools' || rule === 'more') return [];
  if (rule === 'setting') {
    const isPlain = shape.objects.length === 0 && (shape.items === null || shape.items.objects.length === 0);
    return isPlain ? [] : [`${path}: an object`];
  }
  const { text, items } = rule;
  const members = rule.members ?? (rule.readBy === undefined ? undefined : table.readBy[rule.readBy]!.members);
  const found: string[] = [];
  if (rule.any !== undefined) return found;
  if ((shape.isScalar || shape.texts.size > 0) && text === undefined) found.push(`${path}: a text`);
  if (shape.items !== null)
    found.push(...(items === undefined ? [`${path}: an array`] : missing(shape.items, items, table, path)));
  for (const object of shape.objects) {
    if (members === undefined) found.push(`${path}: an object`);
    else found.push(...missingMembers(object, members, table, path));
  }
  return found;
}

function missingMembers(
  { members }: SdkObject,
  { rules, others }: Members,
  table: RequestTable,
  path: string,
): string[] {
  return [...members].flatMap(([name, shape]) => {
    const at = `${path}.${name}`;
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule !== undefined) return missing(shape(), rule, table, at);
    if (typeof others === 'object') return missing(shape(), others.each, table, at);
    // Open: content, unless its name suggests otherwise.
    return others === 'open' && !tellsOfState(name) ? [] : [at];
  });
}

function undecidedTools(shape: SdkShape): string[] {
  return shape.objects.flatMap((tool) => {
    const names = [...(tool.members.get('type')?.().texts ?? [])];
    return (names.length === 0 ? ['custom'] : names).flatMap((type) => {
      const family = toolFamily(type);
      if (!Object.hasOwn(TOOLS, family)) return [`tools.${type}`];
      return missingMembers(tool, TOOLS[family]!.members, CHAT_TABLE, `tools.${type}`);
    });
  });
}

function undecidedTop(shape: SdkShape, table: RequestTable): string[] {
  const { rules } = table.top;
  return shape.objects.flatMap(({ members }) =>
    [...members].flatMap(([name, value]) =>
      Object.hasOwn(rules, name) ? missing(value(), rules[name]!, table, name) : [name],
    ),
  );
}

describe('the tables know what the SDKs of the vendors send', () => {
  it('tools and their members', () => {
    assert.deepEqual(
      [
        ...undecidedTools(shapeOf(RESPONSES, 'Tool')),
        ...undecidedTools(shapeOf(CHAT, 'ChatCompletionTool')),
        ...undecidedTools(shapeOf(MESSAGES, 'ToolUnion')),
        ...undecidedTools(shapeOf(BETA, 'BetaToolUnion')),
      ],
      [],
    );
  });

  for (const [what, file, name, table] of [
    ['responses', RESPONSES, 'ResponseCreateParamsBase', RESPONSES_TABLE],
    ['compaction', RESPONSES, 'ResponseCompactParams', RESPONSES_TABLE],
    ['chat', CHAT, 'ChatCompletionCreateParamsBase', CHAT_TABLE],
    ['messages', MESSAGES, 'MessageCreateParamsBase', MESSAGES_TABLE],
    ['messages, beta', BETA, 'MessageCreateParamsBase', MESSAGES_TABLE],
  ] as const) {
    it(`members at the top: ${what}`, () => assert.deepEqual(undecidedTop(shapeOf(file, name), table), []));
  }

  it('items, and whether they are complete as they stand', () => {
    const types = shapeOf(RESPONSES, 'ResponseInputItem').objects.flatMap((item) => [
      ...(item.members.get('type')?.().texts ?? []),
    ]);
    assert.ok(types.length > 20);
    assert.deepEqual(
      types.filter((type) => !CONTENT_OF_TYPE.has(type)),
      [],
    );
  });
});
