import { type ReactNode, useState } from 'react'
import { Button, type ButtonProps } from '../ui/controls/Button.tsx'
import { Field } from '../ui/controls/Field.tsx'
import { IconButton } from '../ui/controls/IconButton.tsx'
import { LongMenu } from '../ui/controls/LongMenu.tsx'
import { Menu } from '../ui/controls/Menu.tsx'
import { Picker } from '../ui/controls/Picker.tsx'
import { Segmented } from '../ui/controls/Segmented.tsx'
import { Brand, Dot, type DotTone } from '../ui/marks/Dot.tsx'
import { Empty, Skeleton } from '../ui/marks/Empty.tsx'
import { ICON_NAMES, Icon } from '../ui/marks/Icon.tsx'
import { Kbd } from '../ui/marks/Kbd.tsx'
import { Meter } from '../ui/marks/Meter.tsx'
import './components-page.css'

const LOOKS: readonly NonNullable<ButtonProps['look']>[] = ['plain', 'primary', 'quiet', 'danger']
const TONES: readonly DotTone[] = ['quiet', 'work', 'need', 'ok', 'seen', 'bad']
const SURFACES = ['canvas', 'sheet', 'card', 'pop', 'sunken', 'fill', 'need-bg', 'agent-bg'] as const
const OPTIONS = [
  { value: 'ask', label: 'Ask before changes', detail: 'Reads freely, asks for the rest.' },
  { value: 'edit', label: 'Edit freely', detail: 'Asks before it runs commands.' },
  { value: 'gone', label: 'Not to be had', disabled: true },
] as const

/** Every piece of `src/ui` in every state. In development builds only. */
export default function ComponentsPage() {
  const [segment, setSegment] = useState('a')
  const [option, setOption] = useState<string>('ask')
  return (
    <div className="components">
      <h1>Components</h1>
      <Group name="Buttons">
        {LOOKS.map(look => (
          <Specimen key={look} name={`button ${look}`}>
            <Button look={look}>Allow</Button>
            <Button look={look} size="small">
              Small
            </Button>
            <Button look={look} disabled>
              Off
            </Button>
          </Specimen>
        ))}
        <Specimen name="icon buttons">
          <IconButton icon="copy" label="Copy" />
          <IconButton icon="more" label="More" disabled />
        </Specimen>
      </Group>
      <Group name="Choices">
        <Specimen name="picker">
          <Picker label="Permissions" icon="shield" value={option} options={OPTIONS} onChange={setOption} />
        </Specimen>
        <Specimen name="picker strong">
          <Picker
            label="Project"
            icon="folder"
            look="strong"
            value={option}
            options={OPTIONS}
            onChange={setOption}
          />
        </Specimen>
        <Specimen name="picker boxed">
          <Picker label="Scope" look="boxed" value={option} options={OPTIONS} onChange={setOption} />
        </Specimen>
        <Specimen name="picker disabled">
          <Picker label="Model" value={option} options={OPTIONS} onChange={setOption} disabled />
        </Specimen>
        <Specimen name="segmented">
          <Segmented
            label="View"
            value={segment}
            onChange={setSegment}
            segments={['a', 'b', 'c'].map(value => ({ value, label: value.toUpperCase() }))}
          />
        </Specimen>
        <Specimen name="menus">
          <Menu
            trigger={<Button>Menu</Button>}
            title="What now?"
            items={[
              { label: 'Rename', icon: 'edit', onSelect: nothing },
              { label: 'Delete', icon: 'remove', danger: true, onSelect: nothing },
            ]}
          />
          <LongMenu
            trigger={<Button>Long menu</Button>}
            title="Folder"
            items={Array.from({ length: 12 }, (_, i) => ({
              label: `Entry ${i}`,
              checked: i === 2,
              onSelect: nothing,
            }))}
          />
        </Specimen>
      </Group>
      <Group name="Fields">
        <Specimen name="field">
          <Field label="Name" hint="One line that helps.">
            {id => <input id={id} className="input" defaultValue="parser-kit" />}
          </Field>
        </Specimen>
        <Specimen name="field code">
          <Field label="Folder" hint={<span role="alert">The folder does not exist.</span>}>
            {id => <input id={id} className="input input--code" placeholder="~/project" />}
          </Field>
        </Specimen>
      </Group>
      <Group name="Marks">
        {TONES.map(tone => (
          <Specimen key={tone} name={`dot ${tone}`}>
            <Dot tone={tone} />
          </Specimen>
        ))}
        <Specimen name="brand">
          <Brand working={false} needsYou={false} />
          <Brand working needsYou={false} />
          <Brand working needsYou />
        </Specimen>
        <Specimen name="meters">
          <Meter value={2} max={10} label="A little" />
          <Meter value={95} max={100} label="Nearly all" />
        </Specimen>
        <Specimen name="keys">
          <Kbd>N</Kbd>
          <Kbd>Ctrl K</Kbd>
        </Specimen>
      </Group>
      <Group name="Icons">
        <p>
          {ICON_NAMES.map(name => (
            <Icon key={name} name={name} />
          ))}
        </p>
      </Group>
      <Group name="Nothing yet">
        <Specimen name="empty">
          <Empty title="Nothing is archived">What you archive can be found here.</Empty>
        </Specimen>
        <Specimen name="skeleton">
          <Skeleton lines={3} label="Loading" />
        </Specimen>
      </Group>
      <Group name="Surfaces">
        {SURFACES.map(surface => (
          <Specimen key={surface} name={`surface ${surface}`}>
            <span className={`components__surface components__surface--${surface}`}>{surface}</span>
          </Specimen>
        ))}
      </Group>
    </div>
  )
}

function Group({ name, children }: { name: string; children: ReactNode }) {
  return (
    <section aria-label={name}>
      <h2>{name}</h2>
      <div className="components__row">{children}</div>
    </section>
  )
}

/** A place of its own size, so that one that changes moves no other. */
function Specimen({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="components__specimen" data-specimen={name}>
      {children}
    </div>
  )
}

function nothing(): void {}
