import type { IconName } from '../../ui/marks/Icon.tsx'

/** The pages beside the sessions, as the sidebar and the bar of a phone list them. */
export const NAV_PAGES = [
  { to: '/', label: 'Home', icon: 'home' },
  { to: '/fleet', label: 'All sessions', icon: 'fleet' },
  { to: '/loops', label: 'Loops', icon: 'contents' },
  { to: '/schedules', label: 'Schedules', icon: 'schedule' },
  { to: '/usage', label: 'Usage', icon: 'usage' },
] as const satisfies readonly { to: string; label: string; icon: IconName }[]
