import { Fieldset, Stack } from '@mantine/core';
import { defineTexts, useTexts } from '../../text/language.tsx';
import { useOperationName } from '../calls/operation-name.ts';
import { Folded } from '../folded.tsx';
import { type SettingField, SettingFields } from './setting-fields.tsx';
import type { Entry } from './use-entry.ts';

const texts = defineTexts(
  {
    more: 'Translation…',
    less: 'Hide translation',
    legend: 'Translation between protocols',
    serves: 'Serves',
    servesHint: 'Empty: all operations of its protocol.',
    translate: 'Translates',
    translateHint: 'Operations whose requests are translated for the provider.',
    reasoning: 'Asks for reasoning with',
    thinking: 'Thinking',
    efforts: 'Efforts',
    effortsHint: 'Empty: low, medium, high.',
    replay: 'Earlier reasoning in',
    promptCache: 'Prompt cache',
    laterSystem: 'Later instructions as',
    toolMedia: 'Images of tool results in',
    maxTokens: 'Output limit in',
    takes: 'Takes',
    takesHint: 'Optional fields, such as seed. Press Enter after each.',
    drops: 'Rejects',
    dropsHint: 'Fields such as temperature. Press Enter after each.',
  },
  {
    more: '协议转换…',
    less: '收起协议转换',
    legend: '协议之间的转换',
    serves: '支持的操作',
    servesHint: '留空则为其协议的全部操作。',
    translate: '转换的操作',
    translateHint: '为供应商转换这些操作的请求。',
    reasoning: '请求推理的字段',
    thinking: '思考方式',
    efforts: '推理强度',
    effortsHint: '留空则为 low、medium、high。',
    replay: '返还先前推理的字段',
    promptCache: '提示词缓存',
    laterSystem: '后续指令的角色',
    toolMedia: '工具结果中图片的位置',
    maxTokens: '输出上限的字段',
    takes: '接受的字段',
    takesHint: '可选字段，例如 seed，每个字段后按回车。',
    drops: '拒绝的字段',
    dropsHint: '例如 temperature，每个字段后按回车。',
  },
);

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** Operations that a provider of a protocol can serve, and those that can be translated for it. */
const SERVED = {
  chat: ['chat', 'responses', 'compact', 'completions', 'embeddings', 'rerank', 'images.generate', 'images.edit'],
  messages: ['messages'],
};
const TRANSLATED = { chat: ['messages', 'responses'], messages: ['chat', 'responses'] };

interface TranslationFieldsProps {
  /** A provider or a route in a form. */
  readonly entry: Pick<Entry, 'value' | 'replace'>;
  readonly of: 'provider' | 'route';
  /** Protocol of the provider. */
  readonly protocol: string;
}

/** How requests are translated: which operations, and in which dialect. Folded unless something is set. */
export function TranslationFields({ entry, of, protocol: name }: TranslationFieldsProps) {
  const text = useTexts(texts);
  const operationName = useOperationName();
  const protocol = name === 'messages' ? 'messages' : 'chat';
  const named = (operations: readonly string[]) => operations.map((value) => ({ value, label: operationName(value) }));
  const { serves, translate, dialect } = entry.value;
  const isSet = [serves, translate, dialect].some((setting) => setting !== undefined && setting !== '');
  const operations: SettingField =
    of === 'provider'
      ? {
          setting: 'serves',
          label: text.serves,
          description: text.servesHint,
          kind: 'names',
          options: named(SERVED[protocol]),
        }
      : {
          ...{ setting: 'translate', label: text.translate, description: text.translateHint, kind: 'names' },
          options: named(TRANSLATED[protocol]),
        };
  return (
    <Folded more={text.more} less={text.less} isUnfoldedAtFirst={isSet}>
      <Fieldset legend={text.legend}>
        <Stack gap="sm">
          <SettingFields entry={entry} columns={1} fields={[operations]} />
          <SettingFields entry={entry} fields={protocol === 'chat' ? chatFields(text) : messagesFields(text)} />
        </Stack>
      </Fieldset>
    </Folded>
  );
}

type Texts = (typeof texts)['en'];

function choice(key: string, label: string, options: readonly string[]): SettingField {
  return { setting: `dialect.${key}`, label, kind: 'choice', options };
}

function commonFields(text: Texts): readonly SettingField[] {
  return [
    choice('laterSystem', text.laterSystem, ['user', 'system']),
    {
      ...{ setting: 'dialect.efforts', label: text.efforts, description: text.effortsHint, kind: 'names' },
      options: EFFORTS,
    },
    { setting: 'dialect.takes', label: text.takes, description: text.takesHint, kind: 'names' },
    { setting: 'dialect.drops', label: text.drops, description: text.dropsHint, kind: 'names' },
  ];
}

function chatFields(text: Texts): readonly SettingField[] {
  return [
    choice('reasoning', text.reasoning, ['none', 'effort', 'thinking', 'enable_thinking', 'openrouter', 'template']),
    choice('replay', text.replay, ['none', 'reasoning_content', 'reasoning', 'reasoning_details']),
    choice('maxTokens', text.maxTokens, ['max_tokens', 'max_completion_tokens']),
    choice('toolMedia', text.toolMedia, ['user', 'tool']),
    ...commonFields(text),
  ];
}

function messagesFields(text: Texts): readonly SettingField[] {
  return [
    choice('thinking', text.thinking, ['none', 'adaptive', 'budget']),
    choice('promptCache', text.promptCache, ['off', 'auto']),
    ...commonFields(text),
  ];
}
