import { Menu } from '@mantine/core';
import type { Key } from '../../api/types.ts';
import { useNowMs } from '../../parts/figures.tsx';
import { keyStateOf } from '../../parts/keys/key-state.tsx';
import { goTo } from '../../parts/location.ts';
import { RowMenu } from '../../parts/row-menu.tsx';
import { useTexts } from '../../text/language.tsx';
import type { OpenKeyDialog } from './key-dialogs.tsx';
import { keysTexts } from './texts.ts';

interface KeyMenuProps {
  readonly apiKey: Key;
  /** Addresses of the calls and the usage of the key. */
  readonly calls: string;
  readonly usage: string;
  /** `false` for auditors. */
  readonly mayChange?: boolean;
  readonly mayChangeLimits: boolean;
  readonly onOpen: (dialog: OpenKeyDialog) => void;
}

export function KeyMenu({ apiKey, calls, usage, mayChange = true, mayChangeLimits, onOpen }: KeyMenuProps) {
  const text = useTexts(keysTexts);
  const isActive = keyStateOf(apiKey, useNowMs()) === 'active' && mayChange;
  return (
    <RowMenu label={text.actionsFor(apiKey.name ?? apiKey.prefix)}>
      <Menu.Item onClick={() => goTo(calls)}>{text.showCalls}</Menu.Item>
      <Menu.Item onClick={() => goTo(usage)}>{text.showUsage}</Menu.Item>
      {isActive && (
        <>
          <Menu.Divider />
          {mayChangeLimits && (
            <>
              <Menu.Item onClick={() => onOpen({ kind: 'rename', apiKey })}>{text.rename}</Menu.Item>
              <Menu.Item onClick={() => onOpen({ kind: 'limits', apiKey })}>{text.changeLimits}</Menu.Item>
            </>
          )}
          <Menu.Item onClick={() => onOpen({ kind: 'replace', apiKey })}>{text.replace}</Menu.Item>
          <Menu.Item color="red" onClick={() => onOpen({ kind: 'revoke', apiKey })}>
            {text.revoke}
          </Menu.Item>
        </>
      )}
    </RowMenu>
  );
}
