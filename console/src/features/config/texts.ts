import { pageTexts } from '../../parts/texts.ts';
import { counted } from '../../text/counted.ts';

export const configTexts = pageTexts(
  {
    lead: 'The configuration of this node, with environment variables and defaults, without secrets. Edit the file to change it; most settings apply without a restart.',
    inForce: 'In force',
    file: 'File',
    noFile: 'none (defaults and environment)',
    loaded: 'Loaded',
    overridden: 'Set by flags or environment',
    lastErrorAt: 'Refused',
    needsRestart: 'Some changes need a restart',
    needsRestartHint: 'These changes apply after a restart:',
    settings: 'Settings',
    search: 'Search settings',
    searchHint: 'a name or a value, such as timeouts or acme',
    found: (count: number) => counted(count, 'line'),
    nothing: 'No matching lines',
    copy: 'Copy all settings',
  },
  {
    lead: '本节点已加载的配置：已合并环境变量与默认值，不含机密信息。请在配置文件中修改；可热加载的内容无需重启即可生效。',
    inForce: '当前生效',
    file: '文件',
    noFile: '无：使用默认值与环境变量',
    loaded: '加载时间',
    overridden: '来自命令行参数或环境变量',
    lastErrorAt: '拒绝时间',
    needsRestart: '部分更改需要重启',
    needsRestartHint: '以下内容已写入文件，网关重启后生效：',
    settings: '配置内容',
    search: '搜索配置',
    searchHint: '名称或值，例如 timeouts 或 acme',
    found: (count: number) => `${count} 行`,
    nothing: '没有匹配的行',
    copy: '复制全部配置',
  },
);
