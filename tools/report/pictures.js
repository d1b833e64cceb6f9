// Outputs as pictures. They are images, so that no text in them can become markup or a script of this page.

function drawPictures() {
  const pictures = stats.pictures || [];
  const place = document.getElementById("pictures");
  for (const picture of pictures) {
    const figure = element("figure", {});
    const source = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(picture.svg);
    figure.append(element("img", { src: source, alt: picture.caption }), element("figcaption", { class: "note" }, picture.caption));
    place.append(figure);
  }
  if (pictures.length === 0) place.append(element("p", { class: "note" }, "None were drawn: --stats FILE --picture NAME"));
}
