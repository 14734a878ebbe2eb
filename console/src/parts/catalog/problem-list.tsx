import { Alert, Anchor, List, Text } from '@mantine/core';
import { AlertIcon } from '@primer/octicons-react';
import type { CheckedCatalog } from '../../api/types.ts';
import { useTexts } from '../../text/language.tsx';
import { GatewayMessage } from '../gateway-message.tsx';
import { catalogTexts } from './texts.ts';

interface ProblemListProps {
  readonly problems: CheckedCatalog['problems'];
  /** Shows a line of the text. Without it, problems are named by their keys only. */
  readonly onLine?: (line: number) => void;
}

export function ProblemList({ problems, onLine }: ProblemListProps) {
  const text = useTexts(catalogTexts);
  if (problems.length === 0) return null;
  return (
    <Alert color="red" icon={<AlertIcon />} title={text.problems(problems.length)} role="alert">
      <List size="sm" listStyleType="none">
        {problems.map(({ line, key, message }) => (
          <List.Item key={`${line} ${key} ${message}`} styles={{ itemWrapper: { display: 'block' } }}>
            {onLine !== undefined && line > 0 && (
              <>
                <Anchor component="button" type="button" size="sm" onClick={() => onLine(line)}>
                  {text.line(String(line))}
                </Anchor>
                {text.colon}
              </>
            )}
            <Text span size="sm" style={{ overflowWrap: 'anywhere' }}>
              {key !== '' && `${key}${text.colon}`}
              <GatewayMessage>{message}</GatewayMessage>
            </Text>
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}
