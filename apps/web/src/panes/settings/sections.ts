import type { IconName } from '../../ui/marks/Icon.tsx'

/** The sections of the settings, and by which other words the palette finds them. */
export const SETTINGS_SECTIONS = [
  { id: 'agents', label: 'Agents', icon: 'bot', words: 'install version login tested harness' },
  { id: 'permissions', label: 'Permissions', icon: 'shield', words: 'permission rules allow deny policy' },
  { id: 'tools', label: 'Tool servers', icon: 'tool', words: 'mcp connection' },
  { id: 'worktrees', label: 'Worktrees', icon: 'branch', words: 'set-up workspace env files port' },
  { id: 'personas', label: 'Personas', icon: 'persona', words: 'instructions prompt agent file' },
  { id: 'budgets', label: 'Budgets', icon: 'usage', words: 'limit cost dollars tokens minutes spend' },
  { id: 'notifications', label: 'Notifications', icon: 'bell', words: 'push alerts sound' },
  { id: 'devices', label: 'Devices', icon: 'phone', words: 'phone qr code sign in browsers' },
  { id: 'machines', label: 'Machines', icon: 'screen', words: 'fleet worker hub invite revoke' },
  { id: 'appearance', label: 'Appearance', icon: 'palette', words: 'theme dark light colours' },
  { id: 'data', label: 'Data', icon: 'data', words: 'disk space raw logs retention prune delete' },
] as const satisfies readonly { id: string; label: string; icon: IconName; words: string }[]

export type SettingsSection = (typeof SETTINGS_SECTIONS)[number]['id']
