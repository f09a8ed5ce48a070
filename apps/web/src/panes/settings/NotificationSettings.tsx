import { NotificationChoice } from '../../notices/NotificationChoice.tsx'
import { SettingsHead } from './SettingsHead.tsx'

export function NotificationSettings() {
  return (
    <>
      <SettingsHead
        title="Notifications"
        about="One when a session needs an answer, and one when it ends, unless you are looking at it."
      />
      <div className="settings__card settings__card--padded">
        <NotificationChoice />
      </div>
    </>
  )
}
