import { NotificationChoice } from '../../notices/NotificationChoice.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'

export default function NotificationDialog({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Notifications" onClose={onClose}>
      <NotificationChoice />
    </Dialog>
  )
}
