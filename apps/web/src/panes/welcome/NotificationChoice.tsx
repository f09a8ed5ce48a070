import { useState } from 'react'
import { Button } from '../../ui/Button.tsx'

/** Asked for by a person, never by the page itself. */
export function NotificationChoice() {
  const [permission, setPermission] = useState(() =>
    typeof Notification === 'undefined' ? 'denied' : Notification.permission,
  )
  if (permission !== 'default') return null
  return (
    <p className="welcome__notify">
      Get a notification when a session needs an answer or ends?
      <Button size="small" onClick={() => void Notification.requestPermission().then(setPermission)}>
        Turn on
      </Button>
    </p>
  )
}
