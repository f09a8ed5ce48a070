import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { NotificationChoice } from '../../notices/NotificationChoice.tsx'

export default function NotificationDialog({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Notifications" onClose={onClose}>
      <NotificationChoice />
    </Dialog>
  )
}
