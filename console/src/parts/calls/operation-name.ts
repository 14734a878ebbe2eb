import { defineTexts, useTexts } from '../../text/language.tsx';
import { ownValue } from '../../text/own-value.ts';

/** Names of operations. English uses the names on the wire. */
const operationTexts = defineTexts(
  {
    chat: 'chat',
    messages: 'messages',
    responses: 'responses',
    compact: 'compact',
    completions: 'completions',
    embeddings: 'embeddings',
    rerank: 'rerank',
    'images.generate': 'images.generate',
    'images.edit': 'images.edit',
  },
  {
    chat: '对话',
    messages: 'Messages 对话',
    responses: 'Responses 对话',
    compact: '压缩',
    completions: '文本补全',
    embeddings: '向量',
    rerank: '重排',
    'images.generate': '图片生成',
    'images.edit': '图片编辑',
  },
);

/** Translates an operation. Operations unknown to this version keep their name on the wire. */
export function useOperationName(): (operation: string) => string {
  const names: Readonly<Record<string, string>> = useTexts(operationTexts);
  return (operation) => ownValue(names, operation) ?? operation;
}
