import { SegmentedControl, Stack } from '@mantine/core';
import { useState } from 'react';
import type { CallTarget } from '../../parts/calling/call-target.ts';
import type { CalledOperation } from '../../parts/calling/run-call.ts';
import { CodeBlock } from '../../parts/copy.tsx';
import { Section } from '../../parts/section.tsx';
import { useTexts } from '../../text/language.tsx';
import { CODE_LANGUAGES, type CodeLanguage, codeOf, shortened } from './code.ts';
import { playgroundTexts } from './texts.ts';

interface CodeSectionProps {
  readonly operation: CalledOperation;
  readonly target: CallTarget;
  /** The body of the last call. */
  readonly body: object;
}

/** Code that repeats the last call of the conversation. */
export function CodeSection({ operation, target, body }: CodeSectionProps) {
  const text = useTexts(playgroundTexts);
  const [language, setLanguage] = useState<CodeLanguage>('curl');
  const code = codeOf(language, operation, target, body);
  return (
    <Section title={text.code} lead={text.codeLead}>
      <Stack gap="sm" align="stretch">
        <SegmentedControl
          aria-label={text.language}
          value={language}
          onChange={(chosen) => setLanguage(chosen as CodeLanguage)}
          data={[...CODE_LANGUAGES]}
          style={{ alignSelf: 'flex-start' }}
        />
        <CodeBlock code={code} shown={shortened(code)} label={language} />
      </Stack>
    </Section>
  );
}
