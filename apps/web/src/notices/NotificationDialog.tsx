import { Dialog } from '../ui/Dialog.tsx'
import { NotificationChoice } from './NotificationChoice.tsx'

export default function NotificationDialog({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Notifications" onClose={onClose}>
      <NotificationChoice />
    </Dialog>
  )
}
