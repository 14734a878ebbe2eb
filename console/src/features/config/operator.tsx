import { Alert, Box, Code, Group, List, Mark, Stack, Text, TextInput } from '@mantine/core';
import { AlertIcon, SearchIcon } from '@primer/octicons-react';
import { useMemo } from 'react';
import { stringify } from 'yaml';
import { useRead } from '../../api/queries.ts';
import type { ConfigInForce } from '../../api/types.ts';
import { CopyIconButton } from '../../parts/copy.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Instant } from '../../parts/figures.tsx';
import { usePlaceSearch } from '../../parts/filters.tsx';
import { EmptyState, ReadState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { useTexts } from '../../text/language.tsx';
import { type ConfigLine, matchingLines } from './matching-lines.ts';
import { configTexts } from './texts.ts';

export function ConfigPage() {
  const text = useTexts(configTexts);
  const read = useRead('GET /admin/v1/config', {}, { isLive: true });
  return (
    <Page lead={text.lead}>
      <ReadState read={read} />
      {read.data !== undefined && <Loaded loaded={read.data} />}
    </Page>
  );
}

function Loaded({ loaded }: { readonly loaded: ConfigInForce }) {
  const text = useTexts(configTexts);
  const { lastError, needsRestart, overridden } = loaded;
  return (
    <>
      {lastError !== null && (
        <Alert color="red" icon={<AlertIcon />} title={text.configRefused} role="alert">
          <Stack gap="xs">
            <Text size="sm">
              {text.lastErrorAt}
              {text.colon}
              <Instant at={lastError.at} />
            </Text>
            <Code block style={{ whiteSpace: 'pre-wrap' }}>
              {lastError.message}
            </Code>
          </Stack>
        </Alert>
      )}
      {needsRestart.length > 0 && (
        <Alert color="yellow" icon={<AlertIcon />} title={text.needsRestart}>
          {text.needsRestartHint}
          <List size="sm" mt={4}>
            {needsRestart.map((name) => (
              <List.Item key={name}>
                <Code>{name}</Code>
              </List.Item>
            ))}
          </List>
        </Alert>
      )}
      <Section title={text.inForce}>
        <Facts
          facts={[
            [text.loaded, <Instant key="loaded" at={loaded.loadedAt} />],
            [text.file, loaded.file ?? text.noFile],
            [text.node, loaded.node],
            [text.overridden, overridden.join(', ')],
          ]}
        />
      </Section>
      <Settings config={loaded.config} />
    </>
  );
}

function Settings({ config }: { readonly config: unknown }) {
  const text = useTexts(configTexts);
  const [word, setWord] = usePlaceSearch();
  const yaml = useMemo(() => stringify(config, { lineWidth: 0 }), [config]);
  const lines = useMemo(() => matchingLines(yaml, word), [yaml, word]);
  const found = lines.filter(({ isMatch }) => isMatch).length;
  return (
    <Section title={text.settings} actions={<CopyIconButton value={yaml} label={text.copy} />}>
      <Stack gap="sm">
        <Group gap="sm" align="end">
          <TextInput
            type="search"
            label={text.search}
            placeholder={text.searchHint}
            leftSection={<SearchIcon />}
            value={word}
            onChange={({ currentTarget }) => setWord(currentTarget.value)}
            style={{ flex: '1 1 240px', maxWidth: 420 }}
          />
          <Text size="sm" role="status" pb={8}>
            {word.trim() !== '' && text.found(found)}
          </Text>
        </Group>
        {lines.length === 0 ? (
          <EmptyState title={text.nothing} />
        ) : (
          <Box
            component="pre"
            role="region"
            aria-label={text.settings}
            tabIndex={0}
            m={0}
            style={{ overflow: 'auto', fontSize: 'var(--mantine-font-size-sm)', lineHeight: 1.55 }}
          >
            {lines.map((line) => (
              <Line key={line.number} line={line} word={word.trim()} />
            ))}
          </Box>
        )}
      </Stack>
    </Section>
  );
}

function Line({ line, word }: { readonly line: ConfigLine; readonly word: string }) {
  if (!line.isMatch) return `${line.text}\n`;
  const at = line.text.toLowerCase().indexOf(word.toLowerCase());
  return (
    <>
      {line.text.slice(0, at)}
      <Mark>{line.text.slice(at, at + word.length)}</Mark>
      {`${line.text.slice(at + word.length)}\n`}
    </>
  );
}
