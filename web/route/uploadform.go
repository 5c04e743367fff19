package route

import (
	"errors"
	"mime/multipart"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/uploads"
	"fawn/web/httpx"
)

// formOverhead is the maximum size of a form besides its files.
const formOverhead = 1 << 20

// UploadForm returns the form of a request that uploads files, with the limits it has.
func (p *Parts) UploadForm(c echo.Context) (*multipart.Reader, uploads.Config, error) {
	r, limits := c.Request(), p.Uploads()
	if r.ContentLength > limits.MaxTotalSize+formOverhead {
		c.Response().Header().Set("Connection", "close") // the rest of the body is not worth reading
		return nil, limits, &uploads.TotalTooLargeError{Limit: limits.MaxTotalSize}
	}
	r.Body = http.MaxBytesReader(c.Response(), r.Body, limits.MaxTotalSize+formOverhead)
	form, err := r.MultipartReader()
	if err != nil {
		return nil, limits, httpx.Errorf(http.StatusBadRequest, "%s", uploads.ErrNoFiles)
	}
	return form, limits, nil
}

// UploadError words an error of storing a form, including the server's own limit.
func UploadError(err error, limits uploads.Config) error {
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return &uploads.TotalTooLargeError{Limit: limits.MaxTotalSize}
	}
	return err
}
