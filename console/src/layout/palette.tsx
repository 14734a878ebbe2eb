import { Combobox, Modal, Text, TextInput, useCombobox } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { SearchIcon } from '@primer/octicons-react';
import { useEffect, useMemo, useState } from 'react';
import { useAccountChoice } from '../api/account-choice.ts';
import { useRead } from '../api/queries.ts';
import { looksSecret } from '../parts/filters.tsx';
import { goTo, hashOf } from '../parts/location.ts';
import { routeName } from '../parts/route-name.ts';
import { DimmedText } from '../parts/small.ts';
import { pageTexts } from '../parts/texts.ts';
import { useSession } from '../session/session.tsx';
import { useLanguage, useTexts } from '../text/language.tsx';
import type { Command, CommandSubject } from './command.ts';
import type { ConsolePage } from './console-page.ts';
import { commandsFor, matches, mayOpen } from './page-for.ts';
import type { PaletteDialogProps } from './palette-button.tsx';

const texts = pageTexts(
  {
    title: 'Search and commands',
    placeholder: 'A page, a command, an account, a user or an id',
    commands: 'Commands',
    pages: 'Pages',
    users: 'Users',
    find: (text: string) => `Find “${text}”`,
    nothing: 'Nothing matches',
    secret: 'Keys are found on the page Find, which keeps them out of the address.',
    keys: '↑ ↓ to choose, Enter to open, Esc to go back',
    choose: {
      account: 'Which account? Type a part of its name.',
      route: 'Which route?',
      provider: 'Which provider?',
      model: 'Which model?',
    } satisfies Record<CommandSubject, string>,
  },
  {
    title: '搜索与命令',
    placeholder: '页面、命令、账户、用户或 ID',
    commands: '命令',
    pages: '页面',
    users: '用户',
    find: (text: string) => `查找“${text}”`,
    nothing: '没有匹配项',
    secret: '请在“查找”页面搜索密钥，该页面不会将密钥放入地址。',
    keys: '↑ ↓ 选择，Enter 打开，Esc 返回',
    choose: {
      account: '选择账户：输入名称的一部分。',
      route: '选择路由',
      provider: '选择供应商',
      model: '选择模型',
    },
  },
);

/** A row of the palette. */
interface Item {
  readonly key: string;
  readonly label: string;
  readonly detail?: string | undefined;
  readonly run: () => void;
}

interface ItemGroup {
  readonly label: string;
  readonly items: readonly Item[];
}

export interface PaletteProps extends PaletteDialogProps {
  readonly pages: readonly ConsolePage[];
  readonly commands: readonly Command[];
}

/** Opens pages and dialogs with the keyboard. */
export function Palette(props: PaletteProps) {
  const text = useTexts(texts);
  return (
    <Modal.Root
      opened={props.isOpen}
      onClose={props.onClose}
      closeOnEscape={false}
      padding={0}
      size="lg"
      yOffset="10vh"
    >
      <Modal.Overlay />
      <Modal.Content aria-label={text.title}>
        <Modal.Body>{props.isOpen && <Search {...props} />}</Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

function Search({ onClose, ...all }: PaletteProps) {
  const text = useTexts(texts);
  const [typed, setTyped] = useState('');
  const [command, setCommand] = useState<Command | null>(null);
  const combobox = useCombobox({ opened: true });
  const leave = (hash: string): void => {
    onClose();
    goTo(hash);
  };
  const start = (chosen: Command): void => {
    if (chosen.subject === null) leave(chosen.place(''));
    else {
      setTyped('');
      setCommand(chosen);
    }
  };
  const groups = useGroups({ ...all, typed, command, leave, start });
  const items = groups.flatMap((group) => group.items);
  const shown = items.map(({ key }) => key).join('\n');
  // biome-ignore lint/correctness/useExhaustiveDependencies: other rows begin at the first one
  useEffect(() => {
    combobox.selectFirstOption();
  }, [shown]);
  const goBack = (): void => {
    if (command === null) onClose();
    else {
      setTyped('');
      setCommand(null);
    }
  };
  return (
    <Combobox
      store={combobox}
      onOptionSubmit={(key) => items.find((item) => item.key === key)?.run()}
      withinPortal={false}
    >
      <Combobox.EventsTarget withExpandedAttribute>
        <TextInput
          role="combobox"
          aria-label={text.title}
          placeholder={command === null ? text.placeholder : text.choose[command.subject!]}
          leftSection={<SearchIcon />}
          size="md"
          variant="unstyled"
          px="xs"
          value={typed}
          onChange={({ currentTarget }) => setTyped(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') goBack();
          }}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
          data-1p-ignore
        />
      </Combobox.EventsTarget>
      <Combobox.Options tabIndex={0} aria-label={text.title} px="xs" pb="xs" mah="50vh" style={{ overflowY: 'auto' }}>
        {groups.map(({ label, items }) => (
          <Combobox.Group key={label} label={label}>
            {items.map((item) => (
              <Combobox.Option key={item.key} value={item.key}>
                {item.label} {item.detail !== undefined && <DimmedText span>{item.detail}</DimmedText>}
              </Combobox.Option>
            ))}
          </Combobox.Group>
        ))}
        {items.length === 0 && <Combobox.Empty>{looksSecret(typed) ? text.secret : text.nothing}</Combobox.Empty>}
      </Combobox.Options>
      <Text size="xs" c="dimmed" px="sm" py={6}>
        {text.keys}
      </Text>
    </Combobox>
  );
}

interface Choice {
  readonly typed: string;
  /** The command whose subject is being chosen. */
  readonly command: Command | null;
  readonly leave: (hash: string) => void;
  readonly start: (command: Command) => void;
}

function useGroups({
  pages,
  commands,
  typed,
  command,
  leave,
  start,
}: Choice & Pick<PaletteProps, 'pages' | 'commands'>) {
  const text = useTexts(texts);
  const { language } = useLanguage();
  const { operatorRole } = useSession();
  const { accountId, role } = useAccountChoice();
  const user = { hasAccount: accountId !== null, isOwner: role === 'owner', operatorRole };
  const found = useFound(typed, command?.subject ?? null);
  const wanted = typed.trim();
  const ofText = ({ label, detail = '' }: Item): boolean => matches([label, detail], wanted);
  const groups: ItemGroup[] = [];
  if (command !== null) {
    const subjects = found.subjects.map(({ id, name, detail }) => ({
      key: id,
      label: name,
      detail,
      run: () => leave(command.place(id)),
    }));
    groups.push({
      label: command.title[language],
      // The gateway has searched accounts, also by their e-mail address.
      items: command.subject === 'account' ? subjects : subjects.filter(ofText),
    });
  } else {
    groups.push(
      {
        label: text.commands,
        items: commandsFor(commands, user)
          .filter(({ title }) => matches(Object.values(title), wanted))
          .map((each) => ({ key: each.title.en, label: each.title[language], run: () => start(each) })),
      },
      {
        label: text.pages,
        items: pages
          .filter((page) => !page.path.includes(':') && mayOpen(page.for, user))
          .filter(({ title, path }) => matches([...Object.values(title), path], wanted))
          .map(({ path, title }) => ({ key: path, label: title[language], run: () => leave(hashOf(path)) })),
      },
    );
    if (operatorRole !== null && wanted !== '' && !looksSecret(wanted)) {
      groups.push(
        { label: text.accounts, items: found.accounts.map((each) => ({ ...each, run: () => leave(each.hash) })) },
        { label: text.users, items: found.users.map((each) => ({ ...each, run: () => leave(each.hash) })) },
        {
          label: text.search,
          items: [
            { key: 'find', label: text.find(wanted), run: () => leave(hashOf('/operator/find', { id: wanted })) },
          ],
        },
      );
    }
  }
  return groups.filter(({ items }) => items.length > 0);
}

const FOUND_MAX = 8;
const PAUSE_MS = 200;

/** Reads what the text may name: subjects of a command, or accounts and users. Keys are not sent. */
function useFound(typed: string, subject: CommandSubject | null) {
  const isOperator = useSession().operatorRole !== null;
  const [paused] = useDebouncedValue(typed.trim(), PAUSE_MS);
  const search = paused === '' || looksSecret(paused) ? undefined : paused;
  const query = { search, limit: FOUND_MAX };
  const hasText = isOperator && subject === null && search !== undefined;
  const accounts = useRead(
    'GET /admin/v1/accounts',
    { query },
    { isWanted: hasText || subject === 'account', isTyped: true },
  ).data?.data;
  const users = useRead('GET /admin/v1/users', { query }, { isWanted: hasText, isTyped: true }).data?.data;
  const isOfRoutes = subject === 'route' || subject === 'provider' || subject === 'model';
  const routes = useRead('GET /admin/v1/routes', {}, { isWanted: isOfRoutes }).data?.data;
  return useMemo(() => {
    const subjects: { readonly id: string; readonly name: string; readonly detail?: string | undefined }[] = [];
    if (subject === 'account') {
      subjects.push(...(accounts ?? []).map(({ id, name, email }) => ({ id, name, detail: email ?? undefined })));
    } else if (subject === 'route') {
      for (const route of routes ?? []) {
        const { model, provider, providerModel } = route;
        subjects.push({ id: routeName(route), name: model, detail: `${provider} / ${providerModel}` });
      }
    } else if (subject !== null) {
      const names = new Set((routes ?? []).map((route) => route[subject]));
      subjects.push(...[...names].sort().map((name) => ({ id: name, name })));
    }
    return {
      subjects,
      accounts: (hasText ? (accounts ?? []) : []).map(({ id, name, email }) => ({
        key: id,
        label: name,
        detail: email ?? undefined,
        hash: hashOf(`/operator/accounts/${id}`),
      })),
      users: (hasText ? (users ?? []) : []).map(({ id, name, email }) => ({
        key: id,
        label: name,
        detail: email ?? undefined,
        hash: hashOf('/operator/users', { search: id }),
      })),
    };
  }, [accounts, users, routes, subject, hasText]);
}
