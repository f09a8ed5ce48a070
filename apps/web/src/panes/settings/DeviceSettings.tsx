import { useState } from 'react'
import { SignedInBrowsers } from '../../app/dialogs/BrowsersDialog.tsx'
import type { SignInLink } from '../../state/server/server-api.ts'
import { useApi } from '../../state/server/use-api.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { CopyButton } from '../../ui/controls/CopyButton.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { SettingsHead } from './SettingsHead.tsx'

export function DeviceSettings() {
  const api = useApi()
  const [link, setLink] = useState<SignInLink | null>(null)
  const make = () => api.newSignInLink().then(setLink, (error: unknown) => toasts.error(messageOf(error)))
  return (
    <>
      <SettingsHead title="Devices" about="The browsers that can run agents on this machine.">
        <Button onClick={() => void make()}>Add a device</Button>
      </SettingsHead>
      {link ? (
        <div className="settings__card settings__card--padded" role="status">
          <p>{`Open this link in the other browser within ${link.minutes} minutes. It works once.`}</p>
          <p className="settings__link">
            <code>{link.url}</code>
            <CopyButton text={link.url} label="Copy the link" />
          </p>
        </div>
      ) : null}
      <div className="settings__card">
        <SignedInBrowsers />
      </div>
    </>
  )
}
