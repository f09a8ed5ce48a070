import { useState } from 'react'
import { encode } from 'uqr'
import { SignedInBrowsers } from '../../app/dialogs/BrowsersDialog.tsx'
import type { SignInLink } from '../../state/server/answers.ts'
import { useClient } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { CopyButton } from '../../ui/controls/CopyButton.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { SettingsHead } from './SettingsHead.tsx'

export function DeviceSettings() {
  const client = useClient()
  const [link, setLink] = useState<SignInLink | null>(null)
  const make = () =>
    client.system.newSignInLink.mutate().then(setLink, (error: unknown) => toasts.error(messageOf(error)))
  return (
    <>
      <SettingsHead title="Devices" about="The browsers and phones that can run agents on this machine.">
        <Button onClick={() => void make()}>Add a device</Button>
      </SettingsHead>
      {link ? <NewDevice link={link} /> : null}
      <div className="settings__card">
        <SignedInBrowsers />
      </div>
    </>
  )
}

/** The link as a code for a phone's camera, and as text. Drawn here: the secret in it goes to nobody else. */
function NewDevice({ link: { url, minutes, reach } }: { link: SignInLink }) {
  return (
    <div className="settings__card settings__card--padded new-device" role="status">
      {reach === 'network' ? <QrCode text={url} /> : null}
      <div className="new-device__text">
        {reach === 'network' ? (
          <p>{`Scan the code with the phone's camera, or open the link in the other browser, within ${minutes} minutes. It signs one device in, once.`}</p>
        ) : (
          <>
            <p>{`Open this link in another browser on this machine within ${minutes} minutes. It signs one browser in, once.`}</p>
            <p className="new-device__reach">
              A phone cannot reach this server: it listens on this machine only. Start it with{' '}
              <code>chirality serve --expose tailscale</code>, or put a reverse proxy with HTTPS in front:
              docs/remote.md says how.
            </p>
          </>
        )}
        <p className="settings__link">
          <code>{url}</code>
          <CopyButton text={url} label="Copy the link" />
        </p>
      </div>
    </div>
  )
}

/** Dark on white in both themes: cameras do not read the inverse. */
function QrCode({ text }: { text: string }) {
  const { data, size } = encode(text, { ecc: 'M', border: QUIET })
  const squares = data.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : [])))
  return (
    <svg
      className="new-device__code"
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label="QR code of the link"
    >
      <path d={squares.join('')} />
    </svg>
  )
}

/** Empty modules around the code, which readers need to find it. */
const QUIET = 4
