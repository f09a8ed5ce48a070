import { Link, useParams } from '@tanstack/react-router'
import { Icon, type IconName } from '../../ui/marks/Icon.tsx'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { AgentSettings } from './AgentSettings.tsx'
import { AppearanceSettings } from './AppearanceSettings.tsx'
import { DeviceSettings } from './DeviceSettings.tsx'
import { NotificationSettings } from './NotificationSettings.tsx'
import { PermissionSettings } from './PermissionSettings.tsx'
import { PersonaSettings } from './PersonaSettings.tsx'
import { ToolServerSettings } from './ToolServerSettings.tsx'
import './settings.css'

const SECTIONS = [
  { id: 'agents', label: 'Agents', icon: 'bot', Section: AgentSettings },
  { id: 'permissions', label: 'Permissions', icon: 'shield', Section: PermissionSettings },
  { id: 'tools', label: 'Tool servers', icon: 'tool', Section: ToolServerSettings },
  { id: 'personas', label: 'Personas', icon: 'persona', Section: PersonaSettings },
  { id: 'notifications', label: 'Notifications', icon: 'bell', Section: NotificationSettings },
  { id: 'devices', label: 'Devices', icon: 'phone', Section: DeviceSettings },
  { id: 'appearance', label: 'Appearance', icon: 'palette', Section: AppearanceSettings },
] as const satisfies readonly {
  id: string
  label: string
  icon: IconName
  Section: () => React.ReactNode
}[]

/** What holds for all sessions, one section at a time. */
export default function SettingsPage() {
  const { section } = useParams({ strict: false })
  const shown = SECTIONS.find(({ id }) => id === section) ?? SECTIONS[0]
  return (
    <div className="settings">
      <nav className="settings__sections" aria-label="Settings">
        {SECTIONS.map(({ id, label, icon }) => (
          <Link
            key={id}
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
          <shown.Section />
        </div>
      </ScrollRegion>
    </div>
  )
}
