import { SignedInBrowsers } from '../../app/dialogs/BrowsersDialog.tsx'
import { SettingsHead } from './SettingsHead.tsx'

export function DeviceSettings() {
  return (
    <>
      <SettingsHead title="Devices" about="The browsers that can run agents on this machine." />
      <div className="settings__card">
        <SignedInBrowsers />
      </div>
    </>
  )
}
