import { defineTexts } from '../../text/language.tsx';

/** The phrases of CodeMirror, by their English text. */
export const editorTexts = defineTexts(
  {
    Completions: 'Proposals',
    Diagnostics: 'Problems',
    'No diagnostics': 'No problems',
  },
  {
    Completions: '补全建议',
    Diagnostics: '问题',
    'No diagnostics': '没有问题',
  },
);
