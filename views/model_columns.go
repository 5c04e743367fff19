package views

// Columns are the widths of the outer columns that the reader chose, one of SideWidths in
// px and one of PanelWidths in per cent of the page; 0 is the usual.
type Columns struct{ Side, Panel int }

// SideWidths returns the widths the side bar can be given, in px.
func SideWidths() []int { return []int{220, 240, 260, 280, 300, 320, 340, 360} }

// PanelWidths returns the widths the panel can be given, in per cent of the page.
func PanelWidths() []int { return []int{30, 35, 40, 45, 50, 55, 60, 65, 70} }
