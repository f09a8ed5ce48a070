import { LAYOUT_LIMITS, setLayout } from '../../state/kept/layout.ts'
import { setTheme, type Theme, useTheme } from '../../state/kept/theme.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { type Segment, Segmented } from '../../ui/controls/Segmented.tsx'
import { SettingsHead } from './SettingsHead.tsx'

const THEMES: readonly Segment<Theme>[] = [
  { value: 'system', label: 'System', icon: 'screen' },
  { value: 'light', label: 'Light', icon: 'light' },
  { value: 'dark', label: 'Dark', icon: 'theme' },
]

export function AppearanceSettings() {
  const theme = useTheme()
  return (
    <>
      <SettingsHead
        title="Appearance"
        about="How this browser shows the page. Other devices keep their own."
      />
      <ul className="settings__card">
        <li className="settings__row">
          <span className="settings__what">
            <b>Theme</b>
            <span>System follows your device, also when it changes in the evening.</span>
          </span>
          <Segmented label="Theme" value={theme} segments={THEMES} onChange={setTheme} />
        </li>
        <li className="settings__row">
          <span className="settings__what">
            <b>Columns</b>
            <span>Drag the edges of the sidebar and the panel, or use the arrow keys on them.</span>
          </span>
          <Button
            onClick={() =>
              setLayout({
                sidebar: 'open',
                panel: 'open',
                sidebarWidth: LAYOUT_LIMITS.sidebarWidth.normal,
                panelWidth: LAYOUT_LIMITS.panelWidth.normal,
              })
            }
          >
            Reset
          </Button>
        </li>
      </ul>
    </>
  )
}
