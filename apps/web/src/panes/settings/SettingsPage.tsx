import { Link, useParams } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { Icon } from '../../ui/marks/Icon.tsx'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { AgentSettings } from './AgentSettings.tsx'
import { AppearanceSettings } from './AppearanceSettings.tsx'
import { BudgetSettings } from './BudgetSettings.tsx'
import { DataSettings } from './DataSettings.tsx'
import { DeviceSettings } from './DeviceSettings.tsx'
import { MachineSettings } from './MachineSettings.tsx'
import { NotificationSettings } from './NotificationSettings.tsx'
import { PermissionSettings } from './PermissionSettings.tsx'
import { PersonaSettings } from './PersonaSettings.tsx'
import { SETTINGS_SECTIONS, type SettingsSection } from './sections.ts'
import { ToolServerSettings } from './ToolServerSettings.tsx'
import { WorktreeSettings } from './WorktreeSettings.tsx'
import './settings.css'

const PAGES: Readonly<Record<SettingsSection, () => ReactNode>> = {
  agents: AgentSettings,
  permissions: PermissionSettings,
  tools: ToolServerSettings,
  worktrees: WorktreeSettings,
  personas: PersonaSettings,
  budgets: BudgetSettings,
  notifications: NotificationSettings,
  devices: DeviceSettings,
  machines: MachineSettings,
  appearance: AppearanceSettings,
  data: DataSettings,
}

/** Settings for all sessions, one section at a time. */
export default function SettingsPage() {
  const { section } = useParams({ strict: false })
  const named = SETTINGS_SECTIONS.find(({ id }) => id === section)
  const shown = named ?? SETTINGS_SECTIONS[0]
  const Page = PAGES[shown.id]
  const nav = useRef<HTMLElement>(null)
  // On a phone they are one row that scrolls.
  useEffect(() => {
    const row = nav.current
    const chosen = row?.querySelector<HTMLElement>(`[data-section="${shown.id}"]`)
    if (row && chosen) row.scrollLeft = chosen.offsetLeft - (row.clientWidth - chosen.offsetWidth) / 2
  }, [shown.id])
  return (
    <div className="settings">
      <nav ref={nav} className="settings__sections" aria-label="Settings">
        {SETTINGS_SECTIONS.map(({ id, label, icon }) => (
          <Link
            key={id}
            data-section={id}
            to="/settings/$section"
            params={{ section: id }}
            className={id === shown.id ? 'nav-link nav-link--on' : 'nav-link'}
            aria-current={id === shown.id ? 'page' : undefined}
          >
            <Icon name={icon} />
            {label}
          </Link>
        ))}
      </nav>
      <ScrollRegion className="settings__page" label={shown.label}>
        <div className="settings__column">
          {section !== undefined && named === undefined ? (
            <p role="alert">{`There is no section “${section}”. These are the settings of ${shown.label.toLowerCase()}.`}</p>
          ) : null}
          <Page />
        </div>
      </ScrollRegion>
    </div>
  )
}
